// /operate/ledger

import { PageHead } from '../../ui/page-head.tsx'

export default function OperateLedgerPage() {
  return <PageHead title="Ledger" />
}
