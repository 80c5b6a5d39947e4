// /account

import { PageHead } from '../ui/page-head.tsx'

export default function AccountPage() {
  return <PageHead title="Account" />
}
