// Automatic top-up: what is charged, when, and at most how much in a month. Off until somebody switches it on.

import { CREDITS_PER_DOLLAR, readDollars, writeDollars } from '../format.ts'
import { Badge, LimitMeter, Money } from '../ui/figures.tsx'
import { Form, type FormValues, SubmitButton, TextField, wrongField } from '../ui/form.tsx'
import { ProblemNotice, Skeleton } from '../ui/notice.tsx'
import { toast } from '../ui/toast.tsx'
import { describeFailure } from './failures.ts'
import { type AutoTopup, type Bounds, readAmount, setAutoTopup, useAutoTopup } from './topups.ts'

/** The API takes no more; a ceiling beyond this protects from nothing. */
const CEILING_MAX_USD = 1_000_000

export function AutoTopupSection({ bounds }: { bounds: Bounds }) {
  const auto = useAutoTopup()
  return (
    <section className="topup-part" aria-labelledby="automatic">
      <header className="part-title">
        <h2 id="automatic">Automatic top-up</h2>
        {auto.data && (
          <Badge tone={auto.data.enabled ? 'good' : 'plain'}>
            {auto.data.enabled ? 'On' : 'Off'}
          </Badge>
        )}
        {auto.data?.enabled && <SwitchOff auto={auto.data} />}
      </header>
      {auto.error && <ProblemNotice problem={auto.error} onRetry={() => void auto.refetch()} />}
      {auto.isPending && <Skeleton />}
      {auto.data &&
        (auto.data.payment_method === null ? (
          <p className="soft">
            Charges a saved payment method when your balance runs low. Top up once with “Keep the
            payment method” ticked; then it can be switched on here.
          </p>
        ) : (
          <AutoTopupForms auto={auto.data} bounds={bounds} />
        ))}
    </section>
  )
}

function AutoTopupForms({ auto, bounds }: { auto: AutoTopup; bounds: Bounds }) {
  const submit = async (values: FormValues) => {
    await setAutoTopup({ enabled: true, ...readWish(values, bounds) })
    toast(auto.enabled ? 'Automatic top-up is changed.' : 'Automatic top-up is on.')
  }
  return (
    <>
      <AutoTopupState auto={auto} />
      <Form onSubmit={submit}>
        <AmountFields auto={auto} />
        <div className="row">
          <SubmitButton kind="plain">{auto.enabled ? 'Save' : 'Switch on'}</SubmitButton>
        </div>
      </Form>
    </>
  )
}

function SwitchOff({ auto }: { auto: AutoTopup }) {
  const submit = async () => {
    const { threshold_credits, amount_usd, monthly_ceiling_usd } = auto
    await setAutoTopup({ enabled: false, threshold_credits, amount_usd, monthly_ceiling_usd })
    toast('Automatic top-up is off.')
  }
  return (
    <Form onSubmit={submit}>
      <SubmitButton kind="plain">Switch off</SubmitButton>
    </Form>
  )
}

function AutoTopupState({ auto }: { auto: AutoTopup }) {
  const [charged, ceiling] = [auto.charged_this_month_usd, auto.monthly_ceiling_usd].map(
    (usd) => Math.round(usd * 100) * (CREDITS_PER_DOLLAR / 100),
  )
  return (
    <>
      {auto.switched_off_reason !== null && (
        <p className="notice-line" role="status">
          It was switched off: {describeFailure(auto.switched_off_reason)}. Top up by hand with
          another payment method to keep that one, then switch it on again.
        </p>
      )}
      <p>
        Charges <strong>{auto.payment_method}</strong>. You get a mail each time.
      </p>
      {auto.enabled && charged !== undefined && ceiling !== undefined && (
        <p className="charged">
          <span>
            <Money credits={charged} /> of <Money credits={ceiling} /> charged this month (UTC)
          </span>
          <LimitMeter used={charged} limit={ceiling} label="Charged this month" />
        </p>
      )}
    </>
  )
}

function AmountFields({ auto }: { auto: AutoTopup }) {
  const usd = (amount: number, otherwise: string) => (amount > 0 ? String(amount) : otherwise)
  const threshold = auto.threshold_credits > 0 ? writeDollars(auto.threshold_credits) : '5'
  return (
    <div className="field-triple">
      <TextField
        name="threshold_credits"
        label="When below"
        prefix="$"
        inputMode="decimal"
        defaultValue={threshold}
        required
      />
      <TextField
        name="amount_usd"
        label="Charge"
        prefix="$"
        inputMode="decimal"
        defaultValue={usd(auto.amount_usd, '20')}
        required
      />
      <TextField
        name="monthly_ceiling_usd"
        label="At most a month"
        prefix="$"
        inputMode="decimal"
        defaultValue={usd(auto.monthly_ceiling_usd, '100')}
        required
      />
    </div>
  )
}

function readWish(values: FormValues, bounds: Bounds) {
  const threshold_credits = readDollars(values.read('threshold_credits'))
  if (threshold_credits === undefined || threshold_credits < 1) {
    throw wrongField('threshold_credits', 'Enter dollars, such as 5 or 2.50.')
  }
  const amount_usd = readAmount(values.read('amount_usd'), 'amount_usd', bounds)
  const ceiling_bounds = { min_usd: amount_usd, max_usd: CEILING_MAX_USD }
  const ceiling = values.read('monthly_ceiling_usd')
  return {
    threshold_credits,
    amount_usd,
    monthly_ceiling_usd: readAmount(ceiling, 'monthly_ceiling_usd', ceiling_bounds),
  }
}
