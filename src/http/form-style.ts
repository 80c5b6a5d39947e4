// The look of forms: sign in, consent, connected apps, a new password.

export const formStyle = `
.narrow main { display: grid; gap: 1.5rem; max-width: 27rem; margin: 0 auto; padding-top: 3.5rem; }
.narrow h1 { font-size: 1.6rem; }
.narrow form { display: grid; gap: 1.1rem; }
.lead { color: var(--ink-soft); }
label { display: grid; gap: 0.35rem; font-size: 0.9rem; font-weight: 600; }
input, select {
  width: 100%;
  min-height: 2.75rem;
  padding: 0.5rem 0.75rem;
  border: 1px solid var(--edge);
  border-radius: var(--round);
  background: var(--paper);
  color: var(--ink);
  font: inherit;
  font-weight: 400;
}
input[aria-invalid="true"] { border-color: var(--danger); }
input[type="checkbox"], input[type="radio"] {
  width: auto;
  min-height: 0;
  accent-color: var(--accent);
}
.field-hint { color: var(--ink-soft); font-size: 0.85rem; font-weight: 400; }
.field-error { color: var(--danger); font-size: 0.85rem; font-weight: 400; }
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
.buttons { display: flex; flex-wrap: wrap; gap: 0.75rem; }
.buttons > * { flex: 1; }
.notice {
  padding: 0.8rem 1rem;
  border-left: 3px solid var(--accent);
  border-radius: 0 var(--round) var(--round) 0;
  background: var(--accent-wash);
  font-size: 0.95rem;
}
.notice.danger { border-color: var(--danger); background: var(--danger-wash); }
.grants { padding: 0; border-block: 1px solid var(--rule); list-style: none; }
.grants li { padding: 0.8rem 0; }
.grants li + li { border-top: 1px solid var(--rule); }
.page-head { display: grid; gap: 0.4rem; }
.narrow h2 { font-size: 1.05rem; letter-spacing: -0.005em; }
.narrow section { display: grid; gap: 0.5rem; }
fieldset {
  display: grid;
  gap: 0.7rem;
  min-width: 0;
  margin: 0;
  padding: 0.9rem 1rem 1.1rem;
  border: 1px solid var(--rule);
  border-radius: var(--round);
}
legend { padding: 0 0.35rem; margin-left: -0.35rem; font-weight: 650; }
.choice { display: flex; align-items: center; gap: 0.6rem; min-height: 1.75rem; font-weight: 400; }
.choice input { flex: none; width: 1.1rem; height: 1.1rem; margin: 0; }
.amount { display: flex; align-items: center; gap: 0.5rem; font-weight: 400; }
fieldset .amount { padding-left: 1.7rem; }
.amount input { max-width: 9rem; }
.aside summary { color: var(--ink-soft); font-size: 0.9rem; cursor: pointer; }
.aside form { padding-top: 0.9rem; }
.card { padding: 1.1rem; border: 1px solid var(--rule); border-radius: var(--round); }
.narrow .card { gap: 0.9rem; }
.card h2 { font-size: 1.2rem; }
.card .field-hint { margin-top: -0.7rem; }
.card label .field-hint { margin-top: 0; }
.facts { display: flex; flex-wrap: wrap; gap: 0.5rem 2rem; }
.facts dt { color: var(--ink-soft); font-size: 0.85rem; }
.facts dd { font-size: 1.15rem; font-weight: 600; }
.button.quiet.danger { border-color: var(--danger); color: var(--danger); }
`
