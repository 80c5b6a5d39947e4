// One question and its answer. Painted on the clock of the conversation; those that are done are never made again.

import { memo } from 'react'
import { colorOfModel } from '../model-colors.ts'
import { ScrollArea } from '../ui/table.tsx'
import type { Answer } from './chat-call.ts'
import type { Turn as TurnState } from './conversation.ts'
import { ExactCost, RunningCost } from './cost.tsx'
import { CallFailure } from './failure.tsx'
import { Markdown } from './markdown.tsx'
import { bytesOf, estimateCredits, type Model } from './models.ts'

const ENDINGS: Record<string, string> = {
  length: 'Cut off at the most tokens that it may have.',
  content_filter: 'Stopped by the provider’s filter.',
}

export const Turn = memo(function Turn(props: {
  turn: TurnState
  model: Model | undefined
  onAgain: (turn: TurnState) => void
}) {
  const { turn, model, onAgain } = props
  const { answer, body } = turn
  return (
    <li className="turn">
      <p className="said">
        <span className="unseen">You:</span>
        {turn.prompt}
      </p>
      <div className="answer" aria-busy={!answer.is_done || undefined}>
        <p className="model-name soft">
          <span className="swatch" style={{ background: colorOfModel(body.model) }} />
          {body.model}
        </p>
        <Markdown text={answer.text} />
        <ToolCalls answer={answer} />
        {answer.problem && <CallFailure problem={answer.problem} onAgain={() => onAgain(turn)} />}
        {answer.is_stopped && <p className="soft">You stopped it. What was used is charged.</p>}
        {ENDINGS[answer.finish_reason ?? ''] !== undefined && (
          <p className="soft">{ENDINGS[answer.finish_reason ?? '']}</p>
        )}
        <Cost turn={turn} model={model} />
      </div>
    </li>
  )
})

function Cost({ turn, model }: { turn: TurnState; model: Model | undefined }) {
  const { answer, body, balance_before } = turn
  if (answer.charge) {
    const { charge, first_token_ms, generation_id } = answer
    return <ExactCost {...{ charge, first_token_ms, generation_id }} />
  }
  if (answer.is_done || !model) return null
  const called = answer.tool_calls.map((call) => call.name + call.arguments).join('')
  const answer_bytes = bytesOf(answer.text + called)
  return (
    <RunningCost
      credits={estimateCredits(model, bytesOf(promptOf(body.messages)), answer_bytes)}
      before={balance_before}
    />
  )
}

function promptOf(messages: readonly { content: string }[]): string {
  return messages.map(({ content }) => content).join('\n')
}

function ToolCalls({ answer }: { answer: Answer }) {
  return answer.tool_calls.map((call, place) => (
    <div key={place} className="snippet tool-call">
      <ScrollArea label={`Tool call ${place + 1}`}>
        <pre>
          <code>{JSON.stringify({ ...call, arguments: readJson(call.arguments) }, null, 2)}</code>
        </pre>
      </ScrollArea>
    </div>
  ))
}

/** Arguments come piece by piece: until they are whole, they are text. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
