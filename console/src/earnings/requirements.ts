// What Stripe wants to have of somebody, in words. Its names are paths: of a person, a company or the account itself.

/** The first that fits says it. */
const WORDS: readonly (readonly [name: RegExp, words: string])[] = [
  [/^external_account/, 'A bank account or card to be paid to'],
  [/^tos_acceptance/, 'Your agreement to Stripe’s terms'],
  [/^business_type/, 'Whether you are a person or a company'],
  [/^business_profile\.(url|product_description)/, 'Your website, or what you sell'],
  [/^business_profile\./, 'What your business does'],
  [/verification\.additional_document/, 'A second document, such as a proof of your address'],
  [/^company\.verification|^documents\./, 'A document of the company'],
  [/verification\.(proof_of_liveness|document)/, 'A document that proves who you are'],
  [/(first_name|last_name|\.name|_name)/, 'The full name'],
  [/\.dob\./, 'The date of birth'],
  [/\.address/, 'The address'],
  [/\.phone/, 'A phone number'],
  [/\.email/, 'An email address'],
  [/(id_number|ssn_last_4|tax_id|vat_id)/, 'A tax or identity number'],
  [/(owners|directors|executives|representative|relationship)/, 'Who owns and runs the company'],
]

/** Each once: Stripe names the day, the month and the year of a birth. */
export function describeRequirements(names: readonly string[]): string[] {
  return [...new Set(names.map(describeRequirement))]
}

function describeRequirement(name: string): string {
  const known = WORDS.find(([pattern]) => pattern.test(name))
  return known ? known[1] : name.replaceAll(/[._]/g, ' ')
}
