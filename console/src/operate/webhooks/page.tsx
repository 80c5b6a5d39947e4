// /operate/webhooks

import { PageHead } from '../../ui/page-head.tsx'

export default function OperateWebhooksPage() {
  return <PageHead title="Webhook health" />
}
