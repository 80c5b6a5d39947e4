// How much to buy: one field, and the amounts that the service suggests to fill it with.

import { useState } from 'react'
import { CREDITS_PER_DOLLAR, formatDollars } from '../format.ts'
import { isSandbox } from '../settings.ts'
import { Button } from '../ui/button.tsx'
import { Form, type FormValues, SubmitButton, TextField } from '../ui/form.tsx'
import { CheckField } from './check-field.tsx'
import { type Bounds, goToCheckout, readAmount } from './topups.ts'

type Offer = Bounds & { suggested_usd: number[] }

export function BuyForm({ offer }: { offer: Offer }) {
  const [typed, setTyped] = useState(String(offer.suggested_usd[1] ?? offer.min_usd))
  const submit = async (values: FormValues) =>
    await goToCheckout({
      amount_usd: readAmount(values.read('amount_usd'), 'amount_usd', offer),
      save_payment_method: values.read('save_payment_method') !== '',
    })
  return (
    <Form onSubmit={submit}>
      <fieldset className="amounts">
        <legend className="unseen">Suggested amounts</legend>
        {offer.suggested_usd.map((usd) => (
          <Button
            key={usd}
            aria-pressed={typed === String(usd)}
            onClick={() => setTyped(String(usd))}
          >
            ${usd}
          </Button>
        ))}
      </fieldset>
      <TextField
        name="amount_usd"
        label="Amount"
        prefix="$"
        inputMode="decimal"
        hint={boundsInWords(offer)}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        required
      />
      <CheckField
        name="save_payment_method"
        label="Keep the payment method"
        hint="For automatic top-ups. Nothing is charged until you switch them on."
      />
      <div className="row">
        <SubmitButton>Continue to payment</SubmitButton>
        {isSandbox() && <span className="soft">Sandbox: test cards, no money moves.</span>}
      </div>
    </Form>
  )
}

function boundsInWords({ min_usd, max_usd }: Bounds): string {
  const [least, most] = [min_usd, max_usd].map((usd) => formatDollars(usd * CREDITS_PER_DOLLAR))
  return `From ${least} to ${most}. $1.00 is 1,000,000 credits.`
}
