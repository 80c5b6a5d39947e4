// What can be measured about whether people can use a page: names, sizes, contrast, width. Asked of the
// browser itself, so that nothing has to be put into a page whose policy forbids it.

import type { Page } from 'playwright-core'

const NARROWEST = { width: 320, height: 640 }
/** WCAG 2.2, 1.4.3; large text would need less, and is held to the same. */
const CONTRAST_MIN = 4.5
/** The height that a finger hits, in CSS pixels. */
const TARGET_MIN = 44
const NAMED_ROLES = ['textbox', 'radio', 'button', 'link', 'checkbox']

/** Everything wrong with the page, in words; an empty list is a good page. */
export async function auditPage(page: Page): Promise<string[]> {
  await page.setViewportSize(NARROWEST)
  const faults = [
    ...(await page.evaluate<string[]>(STRUCTURE)),
    ...(await page.evaluate<string[]>(SIZES)),
    ...(await findNameless(page)),
  ]
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    const weak = await page.evaluate<string[]>(CONTRAST)
    faults.push(...weak.map((fault) => `${colorScheme}: ${fault}`))
  }
  return faults
}

/** What a screen reader says of the field in focus: its name, and what describes it. */
export async function describeFocus(page: Page): Promise<{ name: string; description: string }> {
  const nodes = await readAccessibility(page)
  const focused = nodes.find((node) => node.role !== 'RootWebArea' && node.is_focused)
  return { name: focused?.name ?? '', description: focused?.description ?? '' }
}

async function findNameless(page: Page): Promise<string[]> {
  const nodes = await readAccessibility(page)
  return nodes
    .filter((node) => NAMED_ROLES.includes(node.role) && node.name.trim() === '')
    .map((node) => `a ${node.role} has no name`)
}

async function readAccessibility(page: Page) {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  await session.detach()
  return nodes
    .filter((node) => !node.ignored)
    .map((node) => ({
      role: String(node.role?.value),
      name: String(node.name?.value ?? ''),
      description: String(node.description?.value ?? ''),
      is_focused: node.properties?.some(({ name, value }) => name === 'focused' && value.value),
    }))
}

const STRUCTURE = `(() => {
  const faults = []
  if (document.documentElement.lang !== 'en') faults.push('no language')
  const headings = document.querySelectorAll('h1').length
  if (headings !== 1) faults.push(headings + ' h1')
  if (document.title === '') faults.push('no title')
  if (document.querySelector('fieldset:not(:has(legend))')) faults.push('a fieldset without legend')
  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id)
  if (new Set(ids).size !== ids.length) faults.push('an id stands twice')
  for (const element of document.querySelectorAll('[aria-describedby], [aria-labelledby]')) {
    const named = element.getAttribute('aria-describedby') ?? element.getAttribute('aria-labelledby')
    for (const id of named.split(' ')) if (!ids.includes(id)) faults.push('nothing has the id ' + id)
  }
  const { scrollWidth, clientWidth } = document.documentElement
  if (scrollWidth > clientWidth) faults.push(scrollWidth + ' wide on a screen of ' + clientWidth)
  return faults
})()`

// A radio is as large as its label; a link within text is held to its own padding.
const SIZES = `[...document.querySelectorAll('main :is(button, input, summary, a)')]
  .filter((element) => element.type !== 'hidden' && element.checkVisibility())
  .map((element) => (element.type === 'radio' ? element.closest('label') : element))
  .map((element) => [element, Math.max(...[...element.getClientRects()].map((box) => box.height))])
  .filter(([element, height]) => height < (element.tagName === 'A' ? 32 : ${TARGET_MIN}))
  .map(([element, height]) => (element.name || element.innerText) + ' is ' + height + ' high')`

const CONTRAST = `(() => {
  const parse = (color) => color.match(/[\\d.]+/g).map(Number)
  const luminance = (color) => {
    const [r, g, b] = color.slice(0, 3).map((channel) => {
      const part = channel / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const groundOf = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const ground = parse(getComputedStyle(at).backgroundColor)
      if ((ground[3] ?? 1) > 0) return ground
    }
    throw new Error('no ground')
  }
  const faults = []
  const check = (element, text) => {
    if (!element.checkVisibility()) return
    const ground = groundOf(element)
    const [low, high] = [parse(getComputedStyle(element).color), ground].map(luminance).sort((a, b) => a - b)
    const ratio = (high + 0.05) / (low + 0.05)
    if (ratio < ${CONTRAST_MIN}) faults.push(ratio.toFixed(2) + ':1 ' + text)
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim()
    if (text !== '') check(walker.currentNode.parentElement, text)
  }
  for (const input of document.querySelectorAll('input')) check(input, input.name)
  return faults
})()`
