// The start of the console: data, routing under /console, and the shell around every page.

import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { queries } from './queries.ts'
import { applyTheme, readTheme } from './settings.ts'
import { Shell } from './shell/shell.tsx'
import './styles/index.css'

applyTheme(readTheme())
const root = document.getElementById('root')
if (!root) throw new Error('index.html has an element with the id root')
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <Router base="/console">
        <Shell />
      </Router>
    </QueryClientProvider>
  </StrictMode>,
)
