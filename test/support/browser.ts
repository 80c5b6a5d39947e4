// Debian's Chromium, driven over its own protocol; nothing is downloaded.

import { type Browser, chromium } from 'playwright-core'
import { atEnd } from './cleanup.ts'
import { findPart } from './system-parts.ts'

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/**
 * Playwright switches off that storage of a frame is kept apart by the page around it. Of two such switches the last
 * counts, and this names less.
 */
export const PARTITIONED_STORAGE = '--disable-features=HttpsUpgrades,OptimizationHints,MediaRouter'

const running = new Map<string, Promise<Browser>>()

/** One for the whole process and each list of arguments: who wants to be somebody else in it opens another context. */
export async function openBrowser(more_arguments: readonly string[] = []): Promise<Browser> {
  const kind = more_arguments.join(' ')
  const launched = running.get(kind) ?? launch(more_arguments)
  running.set(kind, launched)
  const browser = await launched
  // A service that was begun before this call ends after it, and would wait for the connections of open pages.
  atEnd(() => Promise.all(browser.contexts().map((context) => context.close())))
  return browser
}

async function launch(more_arguments: readonly string[]): Promise<Browser> {
  const executablePath = findPart('chromium')
  if (executablePath === undefined) throw new Error('chromium is not installed')
  const browser = await chromium.launch({ executablePath, args: [...ARGUMENTS, ...more_arguments] })
  atEnd(() => browser.close())
  return browser
}

export const SCREENS = {
  phone: { width: 360, height: 800 },
  desktop: { width: 1440, height: 900 },
} as const
