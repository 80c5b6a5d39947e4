// The processor's words for a payment that failed, as people say them. An unknown one is shown as it came.

const WORDS = new Map([
  ['card_declined', 'the card was declined'],
  ['insufficient_funds', 'the card has too little money'],
  ['expired_card', 'the card has expired'],
  ['authentication_required', 'your bank wants you to confirm the payment'],
  ['no_answer', 'the payment processor never answered'],
  ['disputed', 'a payment was disputed'],
  ['refunded', 'a payment was refunded'],
])

export function describeFailure(code: string): string {
  return WORDS.get(code) ?? code.replaceAll('_', ' ')
}
