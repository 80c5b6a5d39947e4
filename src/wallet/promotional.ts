// Promotional credits: those that nobody paid for. They are spent first, and `promotional` of a wallet says how many it has
// left. docs/decisions/0031-promotional-credits.md has the rule.

/**
 * spend_only: they pay for calls, cannot be transferred, and earn nobody anything that is paid out. as_money: they are
 * what other credits are. It decides each posting when it is made, and changes nothing that was posted before.
 */
export const PROMOTIONAL_CREDITS = ['spend_only', 'as_money'] as const

export type PromotionalCredits = (typeof PROMOTIONAL_CREDITS)[number]
