// The part of the style sheet that only the documentation uses: chapters, operations, tables of
// fields, code.

export const referenceStyle = `
.chapter { max-width: 46rem; scroll-margin-top: 2.5rem; }
.chapter + .chapter, .operation + .chapter { margin-top: 5rem; }
.chapter > h2 { padding-bottom: 0.7rem; border-bottom: 4px double var(--rule); }
.chapter > .prose { margin-top: 1.2rem; }
.introduction > .prose { margin-top: 2rem; font-size: 1.0625rem; }
.facts { display: flex; flex-wrap: wrap; gap: 0.75rem 2.5rem; margin-top: 1.5rem; }
.facts dt { color: var(--ink-soft); font-size: 0.8125rem; }
.facts dd { font-size: 0.95rem; }
.facts code { overflow-wrap: anywhere; }
.schemes > div { padding: 1.1rem 0; border-bottom: 1px solid var(--rule); }
.schemes dt {
  display: flex;
  flex-wrap: wrap;
  align-items: baseline;
  justify-content: space-between;
  gap: 0.2rem 1rem;
  font-weight: 650;
}
.schemes dt code { color: var(--ink-soft); font-weight: 400; overflow-wrap: anywhere; }
.schemes dd { margin-top: 0.3rem; color: var(--ink-soft); }
.schemes dd > * + * { margin-top: 0.6em; }

.index { margin-top: 1.5rem; padding: 0; list-style: none; }
.index a {
  display: flex;
  align-items: baseline;
  gap: 0.75rem;
  padding: 0.28rem 0;
  color: var(--ink);
  text-decoration: none;
}
.index a:hover code { text-decoration: underline; }
.index code { min-width: 0; overflow-wrap: anywhere; }
.index .method { flex: none; min-width: 5.2em; }
.index a > span:last-child { display: none; margin-left: auto; color: var(--ink-soft); }

.operation {
  display: grid;
  gap: 2rem;
  max-width: 46rem;
  margin-top: 2.75rem;
  padding-top: 2.75rem;
  border-top: 1px solid var(--rule);
}
.operation > * { min-width: 0; }
.operation.error { margin-top: 2rem; padding-top: 2rem; }
.anchor { color: inherit; text-decoration: none; }
.anchor:hover { text-decoration: underline; }
.anchor::after { content: " #"; color: var(--ink-soft); font-weight: 400; opacity: 0; }
.anchor:hover::after, .anchor:focus-visible::after, .operation:target .anchor::after { opacity: 1; }
.operation:target .anchor::after { color: var(--accent); }
.endpoint { display: flex; flex-wrap: wrap; align-items: center; gap: 0.6rem; margin-top: 0.6rem; }
.endpoint code { min-width: 0; font-size: 0.95rem; overflow-wrap: anywhere; }
.endpoint + .prose { margin-top: 1rem; }
.account > h4 { margin-top: 2rem; margin-bottom: 0.35rem; }
.media { color: var(--ink-soft); font: 400 0.8rem/1.6 var(--mono); overflow-wrap: anywhere; }
h4 .media { margin-left: 0.5rem; }

.method {
  display: inline-block;
  padding: 0.14em 0.5em;
  border-radius: 4px;
  background: var(--sheet);
  color: var(--ink-soft);
  font: 650 0.72rem/1.5 var(--mono);
  letter-spacing: 0.03em;
  text-align: center;
  white-space: nowrap;
}
.method.post, .method.put, .method.patch { background: var(--accent-wash); color: var(--accent); }
.method.delete { background: var(--danger-wash); color: var(--danger); }
.side .method, .menu .method { flex: none; padding: 0; background: none; font-size: 0.66rem; }
.required, .optional, .deprecated { font: 500 0.75rem/1.5 var(--sans); }
.required { color: var(--warn); }
.optional { color: var(--ink-soft); }
.deprecated { color: var(--danger); }

.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: 0.9rem; text-align: left; }
th, td { vertical-align: top; }
.fields { border-top: 1px solid var(--rule); table-layout: fixed; }
.fields tr { border-bottom: 1px solid var(--rule); }
.fields .name { width: 38%; }
.fields tbody th { padding: 0.75rem 1rem 0.75rem 0; font-weight: 400; }
.fields tbody td { padding: 0.75rem 0; }
.fields th code { color: var(--ink); font-size: 0.84rem; font-weight: 600; }
.fields th code { overflow-wrap: anywhere; }
.fields .parent { color: var(--ink-soft); font-weight: 400; }
.fields th > span { display: block; }
.type { color: var(--ink-soft); font-size: 0.8125rem; line-height: 1.7; overflow-wrap: anywhere; }
.type span::before { content: " · "; }
.fields td .prose { margin-top: 0.15rem; }
.choices { margin-top: 0.35rem; color: var(--ink-soft); font-size: 0.8125rem; line-height: 1.9; }
.choices code { color: var(--ink); }
.contents { margin-top: 2rem; min-width: 34rem; }
.contents th { padding: 0.4rem 1rem 0.4rem 0; color: var(--ink-soft); font-weight: 500; }
.contents td { padding: 0.45rem 1rem 0.45rem 0; border-top: 1px solid var(--rule); }
.contents code { white-space: nowrap; }

.credentials { font-size: 0.95rem; }
.credentials a { color: inherit; text-decoration-color: var(--edge); }
.responses { border-top: 1px solid var(--rule); }
.response { padding: 0.85rem 0; border-bottom: 1px solid var(--rule); }
.outcome { display: flex; align-items: baseline; gap: 0.75rem; font-size: 0.95rem; }
.outcome > span { min-width: 0; }
.status { flex: none; font: 650 0.84rem/1.5 var(--mono); }
.status.s2, .status.s3 { color: var(--accent); }
.status.s4, .status.sd { color: var(--warn); }
.status.s5 { color: var(--danger); }
.codes { margin-top: 0.3rem; padding: 0 0 0 2.6rem; list-style: none; font-size: 0.875rem; }
.codes li { display: flex; flex-wrap: wrap; gap: 0 0.75rem; padding: 0.1rem 0; }
.codes span { color: var(--ink-soft); }
.response details { margin: 0.3rem 0 0 2.6rem; }
.response summary {
  width: fit-content;
  padding: 0.15rem 0.4rem 0.15rem 0;
  color: var(--ink-soft);
  font-size: 0.875rem;
  cursor: pointer;
}
.response summary:hover { color: var(--ink); }
.response .body > .scroll:last-child tr:last-child { border-bottom: 0; }
.response .body { margin-top: 0.6rem; }
.response .body + .body { margin-top: 1.4rem; }
.response .body .code { margin-top: 1rem; }

.examples { display: grid; gap: 1.25rem; align-content: start; }
.code {
  border: 1px solid var(--code-edge);
  border-radius: var(--round);
  background: var(--code-paper);
  color: var(--code-ink);
  overflow: hidden;
}
.prose .code { margin-block: 1.2rem; }
.code figcaption {
  padding: 0.45rem 1rem;
  background: var(--code-head);
  color: var(--code-soft);
  font-size: 0.78rem;
}
.code pre {
  max-height: 34rem;
  padding: 0.9rem 1rem;
  overflow: auto;
  font-size: 0.79rem;
  line-height: 1.65;
  tab-size: 2;
  scrollbar-width: thin;
  scrollbar-color: var(--code-soft) transparent;
}
.code pre:focus-visible { outline-color: var(--code-key); outline-offset: -2px; }
.code code { font-size: 1em; }
.tk { color: var(--code-key); }
.ts { color: var(--code-string); }
.tn, .tw { color: var(--code-number); }
.tv { color: var(--code-variable); }

@media (min-width: 40rem) {
  .index a > span:last-child { display: block; font-size: 0.9rem; }
}
@media (max-width: 32rem) {
  .codes { padding-left: 0; }
  .response details { margin-left: 0; }
  .fields .name { width: 42%; }
  .fields tbody th { padding-right: 0.75rem; }
  .fields th code { font-size: 0.78rem; }
}
@media (min-width: 60rem) and (max-width: 77.99rem) {
  .chapter, .operation { max-width: 48rem; }
}
@media (min-width: 78rem) {
  .operation {
    grid-template-columns: minmax(0, 1fr) minmax(0, 29rem);
    gap: 3rem;
    max-width: 78rem;
  }
  .examples { position: sticky; top: calc(var(--bar) + 1.5rem); align-self: start; }
}
`
