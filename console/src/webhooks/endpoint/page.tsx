// /webhooks/:id

import { PageHead } from '../../ui/page-head.tsx'

export default function WebhooksEndpointPage() {
  return <PageHead title="Webhook" />
}
