// /account/leave

import { PageHead } from '../../ui/page-head.tsx'

export default function AccountLeavePage() {
  return <PageHead title="Close the account" />
}
