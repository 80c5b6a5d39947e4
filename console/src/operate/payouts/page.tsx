// /operate/payouts

import { PageHead } from '../../ui/page-head.tsx'

export default function OperatePayoutsPage() {
  return <PageHead title="Payouts" />
}
