// The ways to pay that the sandbox offers: Stripe's own test cards, and bank debits whose money comes
// or fails to come days later. What happens hangs on the card alone, as with Stripe's.

export type PayOutcome =
  | 'succeeds'
  | 'declined'
  | 'insufficient_funds'
  | 'asks'
  | 'later_succeeds'
  | 'later_fails'

export type TestCard = {
  name: string
  /** What a person reads beside the choice. */
  label: string
  effect: string
  type: 'card' | 'us_bank_account'
  brand: string
  last4: string
  /** Stripe's name for it where a payment method is asked for without a page. */
  token: string
  /** When the customer is there, and when a saved method is charged without them. */
  present: PayOutcome
  off_session: PayOutcome | 'authentication_required'
  disputed?: true
}

const CARD = { type: 'card', brand: 'visa' } as const
const BANK = { type: 'us_bank_account', brand: 'STRIPE TEST BANK' } as const

export const TEST_CARDS: readonly TestCard[] = [
  {
    ...CARD,
    name: 'visa',
    label: 'Visa 4242',
    effect: 'The payment succeeds.',
    last4: '4242',
    token: 'pm_card_visa',
    present: 'succeeds',
    off_session: 'succeeds',
  },
  {
    ...CARD,
    name: 'asks_once',
    label: 'Visa 3155',
    effect: 'Your bank asks you to confirm. Saved, it is charged without asking.',
    last4: '3155',
    token: 'pm_card_authenticationRequiredOnSetup',
    present: 'asks',
    off_session: 'succeeds',
  },
  {
    ...CARD,
    name: 'asks_always',
    label: 'Visa 3184',
    effect: 'Your bank asks you to confirm. Saved, it cannot be charged without you.',
    last4: '3184',
    token: 'pm_card_authenticationRequired',
    present: 'asks',
    off_session: 'authentication_required',
  },
  {
    ...CARD,
    name: 'fails_later',
    label: 'Visa 0341',
    effect: 'The payment succeeds. Saved, it is declined later.',
    last4: '0341',
    token: 'pm_card_chargeCustomerFail',
    present: 'succeeds',
    off_session: 'declined',
  },
  {
    ...CARD,
    name: 'declined',
    label: 'Visa 0002',
    effect: 'The card is declined.',
    last4: '0002',
    token: 'pm_card_chargeDeclined',
    present: 'declined',
    off_session: 'declined',
  },
  {
    ...CARD,
    name: 'insufficient',
    label: 'Visa 9995',
    effect: 'Declined: insufficient funds.',
    last4: '9995',
    token: 'pm_card_visa_chargeDeclinedInsufficientFunds',
    present: 'insufficient_funds',
    off_session: 'insufficient_funds',
  },
  {
    ...CARD,
    name: 'disputed',
    label: 'Visa 0259',
    effect: 'The payment succeeds; moments later you dispute it.',
    last4: '0259',
    token: 'pm_card_createDispute',
    present: 'succeeds',
    off_session: 'succeeds',
    disputed: true,
  },
  {
    ...BANK,
    name: 'bank',
    label: 'Bank debit 6789',
    effect: 'Accepted now; the money comes moments later.',
    last4: '6789',
    token: 'pm_usBankAccount_success',
    present: 'later_succeeds',
    off_session: 'later_succeeds',
  },
  {
    ...BANK,
    name: 'bank_fails',
    label: 'Bank debit 1116',
    effect: 'Accepted now; fails moments later.',
    last4: '1116',
    token: 'pm_usBankAccount_insufficientFunds',
    present: 'later_fails',
    off_session: 'later_fails',
  },
]

export function findCard(wanted: {
  name?: string
  token?: string
  last4?: string
}): TestCard | undefined {
  return TEST_CARDS.find(
    (card) =>
      card.name === wanted.name || card.token === wanted.token || card.last4 === wanted.last4,
  )
}
