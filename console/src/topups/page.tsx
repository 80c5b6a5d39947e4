// /topups

import { PageHead } from '../ui/page-head.tsx'

export default function TopupsPage() {
  return <PageHead title="Top-ups" />
}
