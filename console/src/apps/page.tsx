// /apps

import { PageHead } from '../ui/page-head.tsx'

export default function AppsPage() {
  return <PageHead title="Apps" />
}
