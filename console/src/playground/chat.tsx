// A conversation with a chat model: what was said, the field for what comes next, and the same call in code.

import { type KeyboardEvent, type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import { formatCredits } from '../format.ts'
import { useAccount } from '../queries.ts'
import { isSandbox } from '../settings.ts'
import { Button } from '../ui/button.tsx'
import { TextArea } from '../ui/form.tsx'
import { Menu } from '../ui/menu.tsx'
import { CodeSnippet } from '../ui/snippet.tsx'
import type { ChatBody, Message } from './chat-call.ts'
import { chatSamples } from './code-samples.ts'
import { type Turn as TurnState, useConversation } from './conversation.ts'
import { bytesOf, type Model, mostCredits } from './models.ts'
import { PriceCard } from './price-card.tsx'
import { SANDBOX_PROMPTS, type SandboxPrompt } from './sandbox-prompts.ts'
import {
  NO_SETTINGS,
  readNumber,
  readTools,
  type Settings,
  SettingsForm,
} from './settings-form.tsx'
import { Turn } from './turn.tsx'

const FIRST_PROMPT = 'Say hello in three languages.'
const PROMPT_MAX = 400_000
/** How far below the window the end still counts as in view. */
const NEAR = { rootMargin: '0px 0px 200px 0px' }

type ChatProps = { model: Model; models: readonly Model[]; modelField: ReactNode }

export function Chat({ model, models, modelField }: ChatProps) {
  const [settings, setSettings] = useState(NO_SETTINGS)
  const [prompt, setPrompt] = useState(FIRST_PROMPT)
  const talk = useConversation()
  const account = useAccount()
  const is_readable = readTools(settings.tools) !== undefined
  const body = bodyOf(model, settings, talk.turns, prompt)
  const { send: sendTurn, drop } = talk
  const balance_before = account.data?.balance
  const send = () => {
    if (!is_readable || prompt.trim() === '' || talk.is_running) return
    setPrompt('')
    void sendTurn({ prompt: prompt.trim(), body, balance_before })
  }
  const again = useCallback(
    ({ id, prompt: said, body: sent }: TurnState) => {
      drop(id)
      void sendTurn({ prompt: said, body: sent, balance_before })
    },
    [drop, sendTurn, balance_before],
  )
  return (
    <div className="playground">
      <section className="playground-settings" aria-label="Model and settings">
        {modelField}
        <PriceCard model={model} most={mostOf(model, body, account.data?.available)} />
        <SettingsForm model={model} settings={settings} onChange={setSettings} />
        {!is_readable && (
          <p className="field-error" role="alert">
            The tools are no list in JSON.
          </p>
        )}
      </section>
      <section className="talk" aria-label="Conversation">
        <Turns turns={talk.turns} models={models} onAgain={again} />
        <Composer
          prompt={prompt}
          onChange={setPrompt}
          onSend={send}
          onStop={talk.is_running ? talk.stop : undefined}
          onTry={(tried) => {
            setPrompt(tried.prompt)
            setSettings({ ...settings, tools: tried.tools ?? '' })
          }}
        />
        {talk.turns.length > 0 && !talk.is_running && (
          <div className="row">
            <Button onClick={talk.clear}>New conversation</Button>
          </div>
        )}
        <details className="fold">
          <summary>The same call in code</summary>
          <CodeSnippet label="The same call" samples={chatSamples(body)} />
        </details>
      </section>
    </div>
  )
}

function Turns(props: {
  turns: readonly TurnState[]
  models: readonly Model[]
  onAgain: (turn: TurnState) => void
}) {
  const last = props.turns.at(-1)?.answer
  const end = useFollowing(props.turns)
  return (
    <>
      {props.turns.length === 0 && (
        <p className="soft">Your balance pays for what you send, as it does for any other call.</p>
      )}
      <ol className="turns">
        {props.turns.map((turn) => (
          <Turn
            key={turn.id}
            turn={turn}
            model={props.models.find(({ id }) => id === turn.body.model)}
            onAgain={props.onAgain}
          />
        ))}
      </ol>
      <div ref={end} className="turns-end" />
      {/* The end is announced once; each piece of a stream would drown everything else. */}
      <p className="unseen" role="status">
        {last?.is_done && last.charge
          ? `The answer is complete. It cost ${formatCredits(last.charge.credits_used)} credits.`
          : ''}
      </p>
    </>
  )
}

/** Keeps the end of the conversation in view while it grows, unless somebody has scrolled away from it. */
function useFollowing(turns: readonly TurnState[]) {
  const end = useRef<HTMLDivElement>(null)
  const is_near = useRef(true)
  const count = turns.length
  useEffect(() => {
    const shown = end.current
    if (!shown) return undefined
    const observer = new IntersectionObserver(([entry]) => {
      is_near.current = entry?.isIntersecting === true
    }, NEAR)
    observer.observe(shown)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    if (count > 0) is_near.current = true
  }, [count])
  useEffect(() => {
    if (is_near.current && turns.length > 0) end.current?.scrollIntoView({ block: 'nearest' })
  }, [turns])
  return end
}

function Composer(props: {
  prompt: string
  onChange: (prompt: string) => void
  onSend: () => void
  /** Set while an answer comes. */
  onStop: (() => void) | undefined
  onTry: (tried: SandboxPrompt) => void
}) {
  const sendByKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    props.onSend()
  }
  return (
    <div className="composer">
      <TextArea
        name="prompt"
        label="Message"
        hint="Enter sends, Shift and Enter begin a new line."
        maxLength={PROMPT_MAX}
        value={props.prompt}
        onChange={(event) => props.onChange(event.target.value)}
        onKeyDown={sendByKey}
      />
      <div className="row">
        {props.onStop ? (
          <Button kind="danger" onClick={props.onStop}>
            Stop
          </Button>
        ) : (
          <Button kind="primary" onClick={props.onSend}>
            Send
          </Button>
        )}
        {isSandbox() && <SandboxPrompts onTry={props.onTry} />}
      </div>
    </div>
  )
}

function SandboxPrompts({ onTry }: { onTry: (tried: SandboxPrompt) => void }) {
  return (
    <Menu label="Sandbox prompts" face="Sandbox prompts" className="button plain">
      {(close) => (
        <ul>
          {SANDBOX_PROMPTS.map((tried) => (
            <li key={tried.label}>
              <button
                type="button"
                onClick={() => {
                  close()
                  onTry(tried)
                }}
              >
                {tried.label}
              </button>
            </li>
          ))}
        </ul>
      )}
    </Menu>
  )
}

/** The call that would be sent now; with nothing typed, the one that was sent last. */
function bodyOf(
  model: Model,
  settings: Settings,
  turns: readonly TurnState[],
  prompt: string,
): ChatBody {
  const typed = prompt.trim()
  const last = turns.at(-1)
  if (typed === '' && last) return last.body
  const tools = readTools(settings.tools) ?? []
  const max_tokens = readNumber(settings.max_tokens)
  const temperature = readNumber(settings.temperature)
  return {
    model: model.id,
    messages: [...systemOf(settings), ...said(turns), { role: 'user', content: typed }],
    ...(max_tokens !== undefined && { max_tokens }),
    ...(temperature !== undefined && { temperature }),
    ...(tools.length > 0 && { tools }),
  }
}

function systemOf({ system }: Settings): Message[] {
  return system.trim() === '' ? [] : [{ role: 'system', content: system }]
}

/** What failed, or was answered by a call of a tool alone, is no part of what is said next. */
function said(turns: readonly TurnState[]): Message[] {
  return turns
    .filter(({ answer }) => answer.text !== '' && !answer.problem)
    .flatMap(({ prompt, answer }): Message[] => [
      { role: 'user', content: prompt },
      { role: 'assistant', content: answer.text },
    ])
}

function mostOf(model: Model, body: ChatBody, available: number | undefined): number {
  const tools = body.tools === undefined ? '' : JSON.stringify(body.tools)
  const text = body.messages.map(({ content }) => content).join('') + tools
  const most = mostCredits(model, {
    prompt_bytes: bytesOf(text),
    messages: body.messages.length,
    max_tokens: body.max_tokens,
    tools: tools !== '',
  })
  return Math.min(most, available ?? most)
}
