// /playground

import { PageHead } from '../ui/page-head.tsx'

export default function PlaygroundPage() {
  return <PageHead title="Playground" />
}
