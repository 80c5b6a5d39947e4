// /webhooks

import { PageHead } from '../ui/page-head.tsx'

export default function WebhooksPage() {
  return <PageHead title="Webhooks" />
}
