// One statement of the specification, and the tests that show it.

/** A file and the title of a test in it; `…` stands for what a template fills in, ` › ` between a group and its test. */
export type Proof = readonly [file: string, name: string]

/** What is said, in our words, and what shows it. */
export type Row = readonly [what: string, ...proofs: [Proof, ...Proof[]]]

export type Section = { readonly title: string; readonly rows: readonly Row[] }

export type Chapter = { readonly title: string; readonly sections: readonly Section[] }
