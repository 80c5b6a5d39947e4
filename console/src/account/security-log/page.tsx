// /account/security-log

import { PageHead } from '../../ui/page-head.tsx'

export default function AccountSecurityLogPage() {
  return <PageHead title="Security log" />
}
