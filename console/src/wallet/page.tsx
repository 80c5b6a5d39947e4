// /wallet

import { PageHead } from '../ui/page-head.tsx'

export default function WalletPage() {
  return <PageHead title="Balance and apps" />
}
