// The look of forms: sign in, consent, connected apps, a new password.

export const formStyle = `
/* What people and apps call themselves has no spaces to break at. */
.narrow main {
  display: grid;
  gap: 1.5rem;
  max-width: 30rem;
  margin: 0 auto;
  padding: 2rem 1.25rem 4rem;
  overflow-wrap: anywhere;
}
.narrow h1 { font-size: 1.6rem; }
.narrow h2 { font-size: 1.05rem; letter-spacing: -0.005em; }
.narrow section { display: grid; gap: 0.5rem; }
.narrow form { display: grid; gap: 1.25rem; }
@media (min-width: 60rem) {
  .narrow main { padding-top: 4rem; }
}
.page-head { display: grid; gap: 0.6rem; }
.lead { color: var(--ink-soft); }
.lead strong { color: var(--ink); }
/* A finger needs more than the height of a line; the line stays as high as it was. */
.narrow main a { margin-block: -0.6rem; padding-block: 0.6rem; }
.field { display: grid; gap: 0.35rem; }
label { font-size: 0.9rem; font-weight: 600; }
/* Below 1rem a phone zooms in when a field is tapped. */
input, select {
  width: 100%;
  min-height: 2.75rem;
  padding: 0.5rem 0.75rem;
  border: 1px solid var(--edge);
  border-radius: var(--round);
  background: var(--paper);
  color: var(--ink);
  font: 400 1rem/1.4 var(--sans);
}
input:focus-visible { outline-offset: 1px; border-radius: var(--round); }
input[aria-invalid="true"] { border-color: var(--danger); }
input[type="checkbox"], input[type="radio"] {
  width: auto;
  min-height: 0;
  accent-color: var(--accent);
}
.field-hint { color: var(--ink-soft); font-size: 0.875rem; }
.field-error { color: var(--danger); font-size: 0.9rem; }
.button {
  display: inline-flex;
  align-items: center;
  justify-content: center;
  min-height: 2.75rem;
  padding: 0.5rem 1.2rem;
  border: 1px solid var(--accent);
  border-radius: var(--round);
  background: var(--accent);
  color: var(--on-accent);
  font: 600 1rem/1.2 var(--sans);
  text-decoration: none;
  cursor: pointer;
  transition: filter 120ms;
}
.button:hover { filter: brightness(1.1); }
.button.quiet { border-color: var(--edge); background: transparent; color: var(--ink); }
.button.quiet.danger { border-color: var(--danger); color: var(--danger); }
.button.quiet:hover { filter: none; background: var(--sheet); }
.buttons { display: grid; grid-template-columns: 1fr 1fr; gap: 0.75rem; }
.notice {
  padding: 0.8rem 1rem;
  border-left: 3px solid var(--accent);
  border-radius: 0 var(--round) var(--round) 0;
  background: var(--accent-wash);
  font-size: 0.95rem;
}
.notice.caution { border-color: var(--warn); background: var(--sheet); }
span.caution { color: var(--warn); }
.notice.danger { border-color: var(--danger); background: var(--danger-wash); }
/* Who is connected with whom, read before anything else. */
.between { border-block: 1px solid var(--rule); }
.between div { padding: 0.5rem 0; }
.between div + div { border-top: 1px solid var(--rule); }
.between dt, .sums dt { color: var(--ink-soft); font-size: 0.875rem; }
.between dd { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 0.75rem; }
.grants { display: grid; gap: 0.5rem; padding: 0; list-style: none; }
.grants li { padding-left: 1.4rem; }
.grants li::before {
  float: left;
  width: 0.5rem;
  height: 0.5rem;
  margin: 0.55rem 0 0 -1.25rem;
  border-radius: 50%;
  background: var(--accent);
  content: "";
}
fieldset {
  display: grid;
  gap: 0.35rem;
  min-width: 0;
  margin: 0;
  padding: 0.5rem 1rem 0.75rem;
  border: 1px solid var(--edge);
  border-radius: var(--round);
}
legend { padding: 0 0.35rem; margin-left: -0.35rem; font-weight: 650; }
.choice { display: flex; align-items: center; gap: 0.7rem; min-height: 2.75rem; font: inherit; cursor: pointer; }
.choice input { flex: none; width: 1.2rem; height: 1.2rem; margin: 0; }
.amount { display: flex; align-items: center; gap: 0.5rem; }
.amount input { max-width: 9rem; min-width: 0; }
.amount .button { flex: none; }
fieldset :is(.amount, .field-hint, .field-error) { margin-left: 1.9rem; }
/* An amount is asked of those who chose one. Browsers that cannot tell show it always. */
fieldset:has(input[value="none"]:checked) :is(.amount, .field-hint) { display: none; }
.aside summary { padding: 0.6rem 0; color: var(--ink-soft); cursor: pointer; }
.aside form { padding-top: 0.9rem; }
.card { padding: 1.25rem; border: 1px solid var(--rule); border-radius: var(--round); }
.narrow .card { gap: 1.1rem; }
.card-head { display: grid; gap: 0.2rem; }
.card h2 { font-size: 1.2rem; }
.card form { justify-items: start; }
.sums { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: 0.5rem 1rem; }
.sums dd { font-size: 1.15rem; font-weight: 600; }
.leave { justify-items: start; }
/* A form that needs script stays hidden without it, whatever its layout. */
[hidden] { display: none !important; }
.qr { width: 14rem; max-width: 100%; height: auto; border-radius: var(--round); }
/* A code that is compared letter by letter with one on another screen. */
.user-code { font: 600 1.15rem/1.5 var(--mono); letter-spacing: 0.12em; }
input.user-code { font-size: 1.5rem; text-align: center; text-transform: uppercase; }
.secret { font: 500 1rem/1.5 var(--mono); letter-spacing: 0.04em; }
.narrow main .codes {
  display: block;
  padding: 1rem 1rem 1rem 3rem;
  list-style: decimal;
  border: 1px solid var(--edge);
  border-radius: var(--round);
  font: 500 0.95rem/1.5 var(--mono);
}
.ways { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: 0.75rem; }
.pages { display: flex; flex-wrap: wrap; gap: 0.6rem 1.5rem; }
@media print {
  .masthead, .button, .pages { display: none; }
}
`
