// /account/second-factor

import { PageHead } from '../../ui/page-head.tsx'

export default function AccountSecondFactorPage() {
  return <PageHead title="Second factor" />
}
