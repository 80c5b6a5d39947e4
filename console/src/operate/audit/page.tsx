// /operate/audit

import { PageHead } from '../../ui/page-head.tsx'

export default function OperateAuditPage() {
  return <PageHead title="Audit" />
}
