// /operate/models

import { PageHead } from '../../ui/page-head.tsx'

export default function OperateModelsPage() {
  return <PageHead title="Models and prices" />
}
