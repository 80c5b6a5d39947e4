// The receipt of one call: what was used times its price, one rounding, the markup, and what became of the balance.

import { Fragment, type ReactNode } from 'react'
import { formatCount, formatCredits } from '../format.ts'
import { colorOfModel } from '../model-colors.ts'
import { formatMillionths, formatPrice } from '../prices.ts'
import { IconButton, LinkButton } from '../ui/button.tsx'
import { Badge, CreditAmount, Time } from '../ui/figures.tsx'
import { Sign } from '../ui/icons.tsx'
import { ProblemNotice, Skeleton } from '../ui/notice.tsx'
import { SidePanel } from '../ui/panel.tsx'
import { toast } from '../ui/toast.tsx'
import { type Generation, useGeneration } from './usage.ts'

const BUCKETS: Record<string, { name: string; of: string }> = {
  input: { name: 'Input', of: 'tokens' },
  audio_input: { name: 'Sound in the prompt', of: 'tokens' },
  cached_input: { name: 'Cached input', of: 'tokens' },
  cache_write: { name: 'Written to the cache', of: 'tokens' },
  cache_write_1h: { name: 'Written to the cache for an hour', of: 'tokens' },
  output: { name: 'Output', of: 'tokens' },
  characters: { name: 'Speech', of: 'characters' },
  milliseconds: { name: 'Transcript', of: 'ms' },
  sounds: { name: 'Sound', of: 'made' },
}
const ENDERS: Record<Generation['ended_by'], string> = {
  provider: 'the provider',
  client: 'the client, which left',
  service: 'this service, which stopped',
  credits: 'the credits, which ran out',
  gateway: 'this service, which refused it',
}

type PanelProps = { id: string; place: string; onClose: () => void }

export function ReceiptPanel({ id, place, onClose }: PanelProps) {
  const { data, error, refetch } = useGeneration(id)
  return (
    <SidePanel title="Receipt" onClose={onClose}>
      <p className="soft" role="status">
        {place}
      </p>
      {data && <Receipt call={data} />}
      {!data && error && <ProblemNotice problem={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={6} />}
    </SidePanel>
  )
}

function Receipt({ call }: { call: Generation }) {
  return (
    <>
      <div className="receipt-head">
        <h3 className="model-name">
          <span className="swatch" style={{ background: colorOfModel(call.model) }} />
          {call.model}
        </h3>
        <p>
          <Time at={call.created_at} /> <StatusBadge call={call} />
        </p>
      </div>
      <Failure call={call} />
      <Sum call={call} />
      <Balance call={call} />
      <Facts call={call} />
      <Ids call={call} />
    </>
  )
}

function StatusBadge({ call }: { call: Generation }) {
  if (call.status === 'ok') return <Badge tone="good">served</Badge>
  if (call.status === 'cut') return <Badge tone="warn">cut short</Badge>
  return <Badge tone="danger">failed</Badge>
}

function Failure({ call: { error_code, error, status, credits_used } }: { call: Generation }) {
  if (error_code === null || status !== 'failed') return null
  return (
    <div className="problem">
      <Sign name="alert" />
      <div>
        <p>{error?.message ?? 'The call failed.'}</p>
        {error?.hint && <p className="soft">{error.hint}</p>}
        <p className="soft">
          <a href={`/docs/errors#${error_code}`}>{error_code}</a>
          {credits_used === 0 && ' · Nothing was charged.'}
        </p>
      </div>
      {error_code === 'insufficient_credits' && <LinkButton to="/topups">Top up</LinkButton>}
    </div>
  )
}

function Sum({ call: { receipt, status } }: { call: Generation }) {
  const lines = receipt.lines.filter(({ tokens }) => tokens > 0)
  const { millionths, cost_credits, markup_credits, credits_used, shortfall_credits } = receipt
  if (status === 'failed' && credits_used === 0 && lines.length === 0) return null
  const is_rounded = millionths % 1_000_000 !== 0
  const is_limited = BigInt(Math.ceil(millionths / 1_000_000)) > BigInt(cost_credits)
  return (
    <table className="receipt">
      <caption className="unseen">What was used, times its price, in credits</caption>
      <tbody>
        {lines.map(({ bucket, unit, tokens, price, millionths: amount }) => (
          <tr key={bucket}>
            <th scope="row">
              {BUCKETS[bucket]?.name ?? bucket}
              <span className="soft cell-note">
                {formatCount(tokens)} {BUCKETS[bucket]?.of ?? ''} × {formatPrice(price, unit)}
              </span>
            </th>
            <td data-line={bucket}>{formatMillionths(amount)}</td>
          </tr>
        ))}
        {is_rounded && <Line name="Sum">{formatMillionths(millionths)}</Line>}
        <Line name={costWords(is_limited, is_rounded)} part="cost">
          <CreditAmount credits={cost_credits} />
        </Line>
        {markup_credits > 0 && (
          <Line name="Markup of the app" part="markup">
            <CreditAmount credits={markup_credits} />
          </Line>
        )}
        {shortfall_credits > 0 && (
          <Line name="Not in the wallet, and not owed">
            <CreditAmount credits={-shortfall_credits} />
          </Line>
        )}
      </tbody>
      <tfoot>
        <Line name="Total, in credits" part="total">
          <strong className="settled">
            <CreditAmount credits={credits_used} />
          </strong>
        </Line>
      </tfoot>
    </table>
  )
}

function costWords(is_limited: boolean, is_rounded: boolean): string {
  if (is_limited) return 'Cost, no more than was held'
  return is_rounded ? 'Cost, rounded up once' : 'Cost'
}

function Line({ name, part, children }: { name: string; part?: string; children: ReactNode }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td data-line={part}>{children}</td>
    </tr>
  )
}

function Balance({ call: { balance_before, balance_after } }: { call: Generation }) {
  if (balance_before === null || balance_after === null) return null
  return (
    <p className="before-after">
      <span className="soft">Balance</span>
      <span>
        <span data-line="before">
          <CreditAmount credits={balance_before} />
        </span>
        <span aria-hidden="true"> → </span>
        <span className="unseen">became</span>
        <strong data-line="after">
          <CreditAmount credits={balance_after} />
        </strong>
      </span>
    </p>
  )
}

function Facts({ call }: { call: Generation }) {
  const ms = (value: number | null) => (value === null ? undefined : `${formatCount(value)} ms`)
  const facts: [string, string | undefined][] = [
    ['First token after', ms(call.first_token_ms)],
    ['Whole call', ms(call.latency_ms)],
    [
      'Reasoning',
      call.reasoning_tokens > 0
        ? `${formatCredits(call.reasoning_tokens)} of the output`
        : undefined,
    ],
    ['Streamed', call.stream ? 'yes' : 'no'],
    ['Ended by', ENDERS[call.ended_by]],
    ['Paid by', call.billing_mode === 'user' ? 'the user of the app' : 'the developer'],
    ['Counts', call.estimated ? 'estimated: the provider reported none' : undefined],
    [
      'Fields left out',
      call.ignored_fields.length > 0 ? call.ignored_fields.join(', ') : undefined,
    ],
    ['Answered by', call.upstream_model ?? undefined],
    ['Endpoint', call.endpoint ?? undefined],
    ['User of your app', call.external_user_id ?? undefined],
  ]
  return (
    <dl className="facts">
      {facts.map(
        ([name, value]) =>
          value !== undefined && (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </Fragment>
          ),
      )}
    </dl>
  )
}

function Ids({ call }: { call: Generation }) {
  const ids: [string, string | null][] = [
    ['Generation', call.id],
    ['Request', call.request_id],
    ['Key', call.key_id],
    ['App', call.client_id],
    ['Account', call.user_id],
  ]
  return (
    <dl className="facts ids">
      {ids.map(
        ([name, id]) =>
          id !== null && (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd>
                <code>{id}</code>
                <IconButton
                  sign="copy"
                  label={`Copy the id: ${name.toLowerCase()}`}
                  onClick={() => void copyId(name, id)}
                />
              </dd>
            </Fragment>
          ),
      )}
    </dl>
  )
}

async function copyId(name: string, id: string): Promise<void> {
  await navigator.clipboard.writeText(id)
  toast(`${name} id copied.`)
}
