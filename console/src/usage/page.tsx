// /usage

import { PageHead } from '../ui/page-head.tsx'

export default function UsagePage() {
  return <PageHead title="Usage" />
}
