// /earnings

import { PageHead } from '../ui/page-head.tsx'

export default function EarningsPage() {
  return <PageHead title="Earnings" />
}
