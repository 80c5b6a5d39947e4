// /operate/users/:id

import { PageHead } from '../../../ui/page-head.tsx'

export default function OperateUsersUserPage() {
  return <PageHead title="User" />
}
