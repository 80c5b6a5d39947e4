// /statement

import { PageHead } from '../ui/page-head.tsx'

export default function StatementPage() {
  return <PageHead title="Statement" />
}
