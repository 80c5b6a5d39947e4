// The code of each page, found by its folder and loaded when it is first wanted: on hover, press or visit.

import { type ComponentType, lazy } from 'react'
import { ApiProblem } from './problem.ts'
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
  const made = lazy(() => load(route).catch(() => Promise.reject(notLoaded())))
  components.set(route.page, made)
  return made
}

function notLoaded(): ApiProblem {
  return new ApiProblem({
    status: 0,
    code: 'not_loaded',
    message: 'This page could not be loaded.',
    hint: 'The service does not answer, or it has a new version. Nothing is lost; try again in a moment.',
  })
}

/** Starts loading; what fails is shown by the visit itself. */
export function warmPage(route: PageRoute): void {
  load(route).catch(() => {})
}
