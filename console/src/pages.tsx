// The code of each page, found by its folder and loaded when it is first wanted: on hover, press or visit.

import { type ComponentType, lazy } from 'react'
import type { PageRoute } from './routes.ts'

type PageModule = { default: ComponentType }

const modules = import.meta.glob<PageModule>('./**/page.tsx')
const components = new Map<string, ComponentType>()

function load({ page }: PageRoute): Promise<PageModule> {
  const found = modules[`./${page}/page.tsx`]
  return found ? found() : Promise.reject(new Error(`console/src/${page}/page.tsx is missing`))
}

export function pageOf(route: PageRoute): ComponentType {
  const known = components.get(route.page)
  if (known) return known
  const made = lazy(() => load(route))
  components.set(route.page, made)
  return made
}

/** Starts loading; what fails is shown by the visit itself. */
export function warmPage(route: PageRoute): void {
  load(route).catch(() => {})
}
