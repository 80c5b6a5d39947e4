// /

import { PageHead } from '../ui/page-head.tsx'

export default function OverviewPage() {
  return <PageHead title="Overview" />
}
