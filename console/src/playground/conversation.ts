// The conversation: its turns, one running call, and the clock by which the running answer is painted.

import { useCallback, useEffect, useRef, useState } from 'react'
import { api, ask } from '../api.ts'
import { queries } from '../queries.ts'
import { type Answer, type Charge, type ChatBody, emptyAnswer, streamAnswer } from './chat-call.ts'

/** Each piece of a fast stream painted alone would keep the browser busy with nothing else. */
const PAINT_EVERY_MS = 50
const TURNS_MAX = 100
/** The charge of a call that was stopped is posted a moment after. */
const CHARGE_LOOKS = 8
const CHARGE_LOOK_MS = 500

export type Turn = {
  id: number
  prompt: string
  body: ChatBody
  balance_before: number | undefined
  answer: Answer
}

export function useConversation() {
  const [turns, setTurns] = useState<readonly Turn[]>([])
  const running = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => running.current?.abort(), [])

  const send = useCallback(async (turn: Omit<Turn, 'id' | 'answer'>) => {
    const controller = new AbortController()
    running.current = controller
    const answer = emptyAnswer()
    const id = performance.now()
    const paint = () =>
      setTurns((shown) =>
        shown.map((other) => (other.id === id ? { ...other, answer: { ...answer } } : other)),
      )
    setTurns((shown) => [...shown, { ...turn, id, answer: { ...answer } }].slice(-TURNS_MAX))
    const clock = setInterval(paint, PAINT_EVERY_MS)
    await streamAnswer(answer, turn.body, controller.signal)
    clearInterval(clock)
    if (answer.is_stopped && answer.generation_id !== undefined) {
      answer.charge = await findCharge(answer.generation_id)
    }
    answer.is_done = true
    paint()
    for (const queryKey of [['account'], ['usage']]) void queries.invalidateQueries({ queryKey })
  }, [])

  return {
    turns,
    is_running: turns.at(-1)?.answer.is_done === false,
    send,
    stop: () => running.current?.abort(),
    drop: (id: number) => setTurns((shown) => shown.filter((turn) => turn.id !== id)),
    clear: () => setTurns([]),
  }
}

async function findCharge(id: string): Promise<Charge | undefined> {
  for (let look = 0; look < CHARGE_LOOKS; look++) {
    await new Promise((resolve) => setTimeout(resolve, CHARGE_LOOK_MS))
    const found = await ask(() =>
      api.GET('/v1/generations/{id}', { params: { path: { id } } }),
    ).catch(() => undefined)
    if (found && found.balance_before !== null && found.balance_after !== null) {
      const { credits_used, balance_before, balance_after } = found
      return { credits_used, balance_before, balance_after }
    }
  }
  return undefined
}
