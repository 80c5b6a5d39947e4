// /operate/health

import { PageHead } from '../../ui/page-head.tsx'

export default function OperateHealthPage() {
  return <PageHead title="Health" />
}
