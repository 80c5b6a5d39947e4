// The design system of every page that this service serves itself: one ink, one paper, one accent
// (verdigris), system fonts, hairlines instead of boxes. The double line is the one ornament: it
// stands in account books under a settled sum. Every text colour keeps at least 4.5:1 against the
// ground it is used on, in both modes.
import { readFileSync } from 'node:fs'
import { formStyle } from './form-style.ts'
import { referenceStyle } from './reference/style.ts'

const tokens = readFileSync(new URL('./tokens.css', import.meta.url), 'utf8')

const base = `
*, *::before, *::after { box-sizing: border-box; }
html {
  font: 100%/1.6 var(--sans);
  font-variant-numeric: tabular-nums;
  -webkit-text-size-adjust: 100%;
  text-size-adjust: 100%;
  scroll-padding-top: calc(var(--bar) - 2px);
}
body { margin: 0; background: var(--paper); color: var(--ink); overflow-wrap: break-word; }
h1, h2, h3, h4, p, ul, ol, dl, dd, figure, pre, table { margin: 0; }
h1, h2, h3, h4 { line-height: 1.25; text-wrap: balance; }
h1 { font-size: clamp(1.9rem, 1.5rem + 1.8vw, 2.6rem); font-weight: 650; letter-spacing: -0.025em; }
h2 { font-size: 1.6rem; font-weight: 650; letter-spacing: -0.018em; }
h3 { font-size: 1.2rem; font-weight: 650; letter-spacing: -0.01em; }
h4 { font-size: 0.875rem; font-weight: 650; }
a { color: var(--accent); text-underline-offset: 0.2em; text-decoration-thickness: 1px; }
a:hover { text-decoration-thickness: 2px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; border-radius: 2px; }
main:focus { outline: none; }
code, pre, kbd { font-family: var(--mono); font-variant-ligatures: none; }
code { font-size: 0.86em; }
.prose :not(pre) > code, .choices code, .outcome code {
  padding: 0.12em 0.36em;
  border-radius: 4px;
  background: var(--sheet);
  -webkit-box-decoration-break: clone;
  box-decoration-break: clone;
  overflow-wrap: anywhere;
}
.prose > * + * { margin-top: 0.9em; }
.prose > h4 { margin-top: 1.8em; font-size: 1rem; }
.prose ul, .prose ol { padding-left: 1.3rem; }
.prose li + li { margin-top: 0.3em; }
.prose li::marker { color: var(--ink-soft); }
.unseen {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}
.skip {
  position: fixed;
  z-index: 3;
  top: 0.6rem;
  left: 0.6rem;
  padding: 0.5rem 0.9rem;
  border-radius: var(--round);
  background: var(--accent);
  color: var(--on-accent);
  transform: translateY(-200%);
}
.skip:focus { transform: none; }
`

const shell = `
.masthead {
  position: sticky;
  z-index: 2;
  top: 0;
  height: var(--bar);
  border-bottom: 1px solid var(--rule);
  background: var(--paper);
}
.masthead-row {
  display: flex;
  align-items: center;
  gap: 1.6rem;
  height: 100%;
  padding: 0 1.25rem;
}
.home { color: inherit; text-decoration: none; }
.mark {
  display: inline-block;
  padding: 0 0.05em 0.02em;
  border-bottom: 4px double var(--accent);
  font: 700 1.375rem/1.05 var(--mono);
  letter-spacing: -0.04em;
}
.masthead-links { display: flex; gap: 1.25rem; font-size: 0.9rem; }
.masthead-links a { color: var(--ink-soft); text-decoration: none; }
.masthead-links a:hover { color: var(--ink); text-decoration: underline; }
.masthead-links a[aria-current] { color: var(--ink); font-weight: 600; }
.to-contents { margin-left: auto; font-size: 0.9rem; }
.side { display: none; }
main { min-width: 0; padding: 2rem 1.25rem 5rem; }
.menu { border-bottom: 1px solid var(--rule); background: var(--sheet); }
.menu summary { padding: 0.85rem 1.25rem; font-weight: 600; cursor: pointer; }
.menu nav { padding: 0 1.25rem 1.25rem; }
.side ul, .menu ul { padding: 0; list-style: none; }
.side li a, .menu li a {
  display: flex;
  align-items: baseline;
  justify-content: space-between;
  gap: 0.75rem;
  padding: 0.32rem 0.75rem;
  border-left: 2px solid transparent;
  color: var(--ink-soft);
  font-size: 0.875rem;
  line-height: 1.4;
  text-decoration: none;
}
.menu li a { padding: 0.5rem 0.75rem; }
.side li a span, .side li a code { min-width: 0; overflow-wrap: anywhere; }
.side li a:hover, .menu li a:hover { border-color: var(--edge); color: var(--ink); }
.nav-title { margin: 1.4rem 0 0.3rem; padding-left: 0.75rem; font-size: 0.8125rem; }
.nav-title a { color: var(--ink); font-weight: 650; text-decoration: none; }
.nav-title a:hover { text-decoration: underline; }
@media (min-width: 60rem) {
  .masthead-row { padding: 0 2rem; }
  .menu, .to-contents { display: none; }
  .with-nav .frame { display: grid; grid-template-columns: 17.5rem minmax(0, 1fr); }
  .side {
    display: block;
    position: sticky;
    top: var(--bar);
    height: calc(100vh - var(--bar));
    padding: 1.75rem 1rem 3rem 1.25rem;
    border-right: 1px solid var(--rule);
    overflow-y: auto;
    overscroll-behavior: contain;
    scrollbar-width: thin;
    scrollbar-color: var(--rule) transparent;
  }
  /* Marks the section in view where the browser can tell by itself; elsewhere nothing is lost. */
  .side nav { scroll-target-group: auto; }
  .side li a:target-current {
    border-color: var(--accent);
    color: var(--accent);
    font-weight: 600;
  }
  main { padding: 3.5rem 3rem 8rem; }
}
`

const circumstances = `
@media (prefers-reduced-motion: reduce) {
  *, *::before, *::after { transition: none !important; animation: none !important; }
}
@media (forced-colors: active) {
  .method, .status { border: 1px solid; }
}
@media print {
  :root {
    color-scheme: light;
    --accent-wash: #fff; --danger-wash: #fff; --warn: #5a3100; --danger: #7a1c14; --edge: #777;
    --paper: #fff; --sheet: #fff; --ink: #000; --ink-soft: #444; --rule: #bbb; --accent: #07473c;
    --code-paper: #fff; --code-head: #fff; --code-edge: #bbb; --code-ink: #000; --code-soft: #444;
    --code-key: #000; --code-string: #000; --code-number: #000; --code-variable: #000;
  }
  html { font-size: 10pt; }
  .side, .menu, .to-contents, .skip, .masthead-links { display: none; }
  .masthead { position: static; }
  .masthead-row { padding: 0; }
  .chapter, .operation { max-width: none; }
  .with-nav .frame { display: block; }
  main { padding: 1rem 0; }
  .code pre { max-height: none; white-space: pre-wrap; overflow-wrap: anywhere; }
  .examples { position: static; }
  details::details-content { display: block; content-visibility: visible; }
  h2, h3, h4, figcaption { break-after: avoid; }
  tr, .response { break-inside: avoid; }
}
`

export const pageStyle = [tokens, base, shell, formStyle, referenceStyle, circumstances].join('')
