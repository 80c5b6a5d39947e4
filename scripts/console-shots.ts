// Takes the pictures of docs/console.md: the real service in sandbox mode, with an account that has a month behind it, in
// a real browser. `npm run console:shots [folder]`; with --all every page, light and dark, on a desk and on a phone.

import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { ROUTES } from '../console/src/routes.ts'
import { LIVED_IN_SETTINGS, makeLivedInAccount } from '../test/console/lived-in-account.ts'
import { openConsole, settle } from '../test/console/support.ts'
import { buildConsole } from './build-console.ts'

const FOLDER = 'docs/pictures/console'
const SCREENS = {
  desktop: { width: 1280, height: 860 },
  phone: { width: 390, height: 844 },
} as const
const THEMES = ['light', 'dark'] as const

type Shot = {
  name: string
  path: string
  screen: keyof typeof SCREENS
  theme: (typeof THEMES)[number]
  /** Somebody who has just registered. */
  is_first_run?: boolean
}

/** The few that the page shows. */
const SHOWN: readonly Shot[] = [
  { name: 'first-run', path: '/', screen: 'desktop', theme: 'light', is_first_run: true },
  { name: 'overview', path: '/', screen: 'desktop', theme: 'light' },
  { name: 'overview-dark', path: '/', screen: 'desktop', theme: 'dark' },
  { name: 'overview-phone', path: '/', screen: 'phone', theme: 'light' },
  ...['keys', 'apps', 'webhooks', 'usage', 'playground', 'earnings', 'wallet'].map((page) => ({
    name: page,
    path: `/${page}`,
    screen: 'desktop' as const,
    theme: 'light' as const,
  })),
]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean', default: false } },
})
const folder = positionals[0] ?? FOLDER

// A test, because the stage is taken down by the runner's own end.
test('pictures of the console', async () => {
  await buildConsole()
  mkdirSync(folder, { recursive: true })
  const stage = await openConsole(LIVED_IN_SETTINGS)
  const lived_in = await makeLivedInAccount(stage)
  await stage.makeOperator(lived_in.person)
  const regular = await stage.visit(lived_in.person)
  const newcomer = await stage.visit(await stage.register('newcomer@example.com'))
  const ids = new Map([
    ['/apps/:id', lived_in.apps.poems.id],
    ['/webhooks/:id', lived_in.webhooks.failing.id],
    ['/operate/users/:id', lived_in.person.user_id],
  ])
  for (const shot of values.all ? everyShot() : SHOWN) {
    const { page, open } = shot.is_first_run ? newcomer : regular
    await page.setViewportSize(SCREENS[shot.screen])
    await page.emulateMedia({ colorScheme: shot.theme, reducedMotion: 'reduce' })
    await open(shot.path.replace(':id', ids.get(shot.path) ?? ''))
    await take(page, shot)
  }
})

async function take(page: Page, { name, screen }: Shot): Promise<void> {
  await settle(page)
  const height = await page.evaluate<number>('document.documentElement.scrollHeight')
  // Long pages are cut: a picture is to be looked at, not scrolled.
  const tallest = SCREENS[screen].height * 2
  await page.setViewportSize({ ...SCREENS[screen], height: Math.min(height, tallest) })
  await page.screenshot({ path: path.join(folder, `${name}.png`) })
  process.stderr.write(`${path.join(folder, `${name}.png`)}\n`)
}

function everyShot(): Shot[] {
  return ROUTES.flatMap(({ page, path: at }) =>
    (['desktop', 'phone'] as const).flatMap((screen) =>
      THEMES.map((theme) => ({
        name: `${page.replaceAll('/', '-')}-${screen}-${theme}`,
        path: at,
        screen,
        theme,
      })),
    ),
  )
}
