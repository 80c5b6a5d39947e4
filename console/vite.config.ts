// How the console is built, and how it runs with hot reload beside a gateway (scripts/dev.ts).

import react from '@vitejs/plugin-react'
import { defineConfig, type ProxyOptions } from 'vite'

const GATEWAY = process.env['SVC_GATEWAY'] ?? 'http://localhost:8080'

/** The gateway refuses writes that a page of another origin asks for; here it is the same page. */
const gateway: ProxyOptions = { target: GATEWAY, headers: { origin: GATEWAY } }

/** What pages share and the frame does not need: one file instead of one for each, so that a visit asks for few. */
const PAGE_PARTS =
  /console\/src\/(ui\/(act-menu|chart|check-field|confirm|copy|day-range|form-actions|form|page-head|panel|period-choice|snippet|table|tabs)|model-colors|prices|sample-call|url-state)\.tsx?$/

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [react()],
  build: {
    // Browsers that know `light-dark()`, nesting and popovers, so that none of them is rewritten.
    target: ['chrome125', 'firefox128', 'safari18'],
    manifest: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // What they import stays with the frame where the frame has it.
          includeDependenciesRecursively: false,
          groups: [{ name: 'parts', test: PAGE_PARTS }],
        },
      },
    },
  },
  server: { port: 5173, proxy: { '^/(?!console/)': gateway } },
})
