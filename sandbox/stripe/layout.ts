// The frame of every hosted page: one column on a phone, light and dark, no script, nothing from
// elsewhere, and a line that keeps anybody from taking it for the real thing.

import { type Html, html, Html as Raw } from './html.ts'
import type { Answer } from './send.ts'

const STYLE = `
:root { color-scheme: light dark; --ground: #f4f5f8; --sheet: #ffffff; --ink: #1c1f2b; --soft: #555b6e;
  --line: #d5d8e2; --accent: #4b3fd1; --on-accent: #ffffff; --bad: #a3122d; --bad-ground: #fdecef; --note: #fff4d6; --on-note: #5c4300 }
@media (prefers-color-scheme: dark) { :root { --ground: #12141c; --sheet: #1c1f2b; --ink: #eef0f6; --soft: #b3b8c9;
  --line: #3a3f52; --accent: #a49bff; --on-accent: #14103f; --bad: #ffb3c0; --bad-ground: #3d1620; --note: #3a2f10; --on-note: #ffe6a3 } }
* { box-sizing: border-box }
html { background: var(--ground) }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
.sandbox { margin: 0; padding: .5rem 1rem; background: var(--note); color: var(--on-note); text-align: center; font-size: .9rem }
main { max-width: 30rem; margin: 0 auto; padding: 1.5rem 1rem 3rem }
main.wide { max-width: 58rem }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .75rem }
h2 { font-size: 1.05rem; margin: 1.75rem 0 .5rem }
p { margin: 0 0 1rem }
.soft { color: var(--soft) }
.sheet { background: var(--sheet); border: 1px solid var(--line); border-radius: .75rem; padding: 1.25rem }
.sheet > :last-child { margin-bottom: 0 }
.columns { display: grid; gap: 1.5rem }
@media (min-width: 50rem) { .columns { grid-template-columns: 5fr 6fr; gap: 3rem; align-items: start } main { padding-top: 3rem } }
.total { font-size: 2.25rem; font-weight: 650; line-height: 1.2; margin: 0 0 1rem; font-variant-numeric: tabular-nums }
table { width: 100%; margin-bottom: 1.5rem; border-collapse: collapse; font-variant-numeric: tabular-nums }
td .soft { display: block; font-size: .9rem }
th, td { text-align: left; padding: .6rem .75rem .6rem 0; border-bottom: 1px solid var(--line); vertical-align: top; font-weight: 400 }
th:last-child, td:last-child { text-align: right; padding-right: 0; white-space: nowrap }
thead th { color: var(--soft); font-size: .9rem }
fieldset { border: 0; padding: 0; margin: 0 0 1.25rem; min-width: 0 }
legend { font-weight: 600; padding: 0; margin-bottom: .5rem }
label.field { display: block; font-weight: 600; margin-bottom: 1.25rem }
label.field input { display: block; width: 100%; margin-top: .35rem }
input:not([type=radio]) { min-height: 2.75rem; padding: .5rem .75rem; font: inherit; font-weight: 400; color: var(--ink);
  background: var(--sheet); border: 1px solid var(--soft); border-radius: .5rem }
label.choice { display: flex; gap: .75rem; align-items: center; min-height: 3.25rem; padding: .5rem .75rem;
  border: 1px solid var(--line); margin-top: -1px; cursor: pointer }
label.choice:first-of-type { border-radius: .5rem .5rem 0 0 }
label.choice:last-of-type { border-radius: 0 0 .5rem .5rem }
label.choice:has(:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); position: relative }
label.choice input { flex: none; width: 1.25rem; height: 1.25rem; margin: 0; accent-color: var(--accent) }
label.choice strong { display: block; font-weight: 600; line-height: 1.3 }
label.choice span span { display: block; color: var(--soft); font-size: .9rem; line-height: 1.35 }
button, a.button { display: block; width: 100%; min-height: 2.9rem; padding: .6rem 1rem; font: inherit; font-weight: 600; text-align: center;
  text-decoration: none; color: var(--on-accent); background: var(--accent); border: 1px solid var(--accent); border-radius: .5rem; cursor: pointer }
button.second, a.second { color: var(--ink); background: var(--sheet); border-color: var(--soft); margin-top: .75rem }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.error { color: var(--bad); background: var(--bad-ground); border: 1px solid var(--bad); border-radius: .5rem; padding: .75rem 1rem; margin: 0 0 1rem; font-weight: 600 }
`

export function page(title: string, main: Html, { wide = false, status = 200 } = {}): Answer {
  const body = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${new Raw(STYLE)}</style>
</head>
<body>
<p class="sandbox">Sandbox. This page stands in for Stripe; no money moves.</p>
<main class="${wide ? 'wide' : 'narrow'}">
${main}
</main>
</body>
</html>
`
  return {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
      'referrer-policy': 'no-referrer',
    },
    body: body.text,
  }
}

/** 303: the browser asks for the next page with GET, whatever it sent. */
export function redirect(location: string): Answer {
  return { status: 303, headers: { location, 'cache-control': 'no-store' }, body: '' }
}

export function notFound(what: string): Answer {
  const main = html`<h1>Nothing here</h1><p>${what}</p>`
  return page('Nothing here', main, { status: 404 })
}
