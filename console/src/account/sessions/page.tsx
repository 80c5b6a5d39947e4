// /account/sessions

import { PageHead } from '../../ui/page-head.tsx'

export default function AccountSessionsPage() {
  return <PageHead title="Sessions" />
}
