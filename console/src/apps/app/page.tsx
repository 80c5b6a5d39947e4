// /apps/:id

import { PageHead } from '../../ui/page-head.tsx'

export default function AppsAppPage() {
  return <PageHead title="App" />
}
