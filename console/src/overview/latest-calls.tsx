// The last seven calls, each leading to its receipt; before the first, how to make it.

import { Link } from 'wouter'
import { formatCount } from '../format.ts'
import { colorOfModel } from '../model-colors.ts'
import { sampleCalls } from '../sample-call.ts'
import { Badge, CreditAmount, Time } from '../ui/figures.tsx'
import { ProblemNotice, Skeleton } from '../ui/notice.tsx'
import { CodeSnippet } from '../ui/snippet.tsx'
import { ScrollArea } from '../ui/table.tsx'
import { type Call, useLatestCalls } from './overview.ts'

export function LatestCalls() {
  const { data: calls, error, refetch } = useLatestCalls()
  return (
    // Unnamed: the table has the name already, and is a landmark while it scrolls.
    <section>
      <header className="section-head">
        <h2>Latest calls</h2>
        {calls && calls.length > 0 && <Link to="/usage">All calls</Link>}
      </header>
      {!calls && error && <ProblemNotice problem={error} onRetry={() => void refetch()} />}
      {!calls && !error && <Skeleton />}
      {calls && (calls.length > 0 ? <CallTable calls={calls} /> : <NoCalls />)}
    </section>
  )
}

function NoCalls() {
  return (
    <div className="no-calls">
      <p className="soft">
        None yet. <Link to="/playground">The playground</Link> needs no key; with one, any OpenAI or
        Anthropic client works:
      </p>
      <CodeSnippet label="A call" samples={sampleCalls()} />
    </div>
  )
}

function CallTable({ calls }: { calls: readonly Call[] }) {
  return (
    <ScrollArea label="Latest calls">
      <table className="table">
        <caption className="unseen">Latest calls</caption>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Model</th>
            <th scope="col" className="end wide-only">
              Tokens in
            </th>
            <th scope="col" className="end wide-only">
              Tokens out
            </th>
            <th scope="col" className="wide-only">
              Status
            </th>
            <th scope="col" className="end">
              Credits
            </th>
          </tr>
        </thead>
        <tbody>
          {calls.map((call) => (
            <CallRow key={call.id} call={call} />
          ))}
        </tbody>
      </table>
    </ScrollArea>
  )
}

function CallRow({ call }: { call: Call }) {
  const tokens_in = call.input_tokens + call.cached_input_tokens + call.cache_write_tokens
  return (
    <tr>
      <td>
        <Link to={`/usage?call=${call.id}`} className="row-link">
          <Time at={call.created_at} as="distance" />
        </Link>
      </td>
      <td>
        <span className="swatch" style={{ background: colorOfModel(call.model) }} /> {call.model}
      </td>
      <td className="end wide-only">{formatCount(tokens_in)}</td>
      <td className="end wide-only">{formatCount(call.output_tokens)}</td>
      <td className="wide-only">
        <CallStatus call={call} />
      </td>
      <td className="end">
        <CreditAmount credits={call.credits_used} />
      </td>
    </tr>
  )
}

function CallStatus({ call: { status, error_code } }: { call: Call }) {
  switch (status) {
    case 'ok':
      return <Badge tone="good">ok</Badge>
    case 'cut':
      return <Badge tone="warn">ended early</Badge>
    case 'failed':
      return <Badge tone="danger">{error_code ?? 'failed'}</Badge>
  }
}
