// /operate/users

import { PageHead } from '../../ui/page-head.tsx'

export default function OperateUsersPage() {
  return <PageHead title="Users" />
}
