// One call of an audio model: the sound or the words that came back, and what it cost.

import { useEffect, useState } from 'react'
import { fetchAnswer } from '../api.ts'
import { type ApiProblem, asProblem } from '../problem.ts'
import { queries } from '../queries.ts'
import type { Charge } from './chat-call.ts'

type AudioPath =
  | '/account/playground/audio/speech'
  | '/account/playground/audio/sound-effects'
  | '/account/playground/audio/transcriptions'

export type SoundResult = {
  /** Of the sound, in the memory of this page. */
  url: string | undefined
  text: string | undefined
  charge: Charge | undefined
  generation_id: string | undefined
}

type State = { is_running: boolean; result?: SoundResult; problem?: ApiProblem }

export function useSoundCall() {
  const [state, setState] = useState<State>({ is_running: false })
  const url = state.result?.url
  useEffect(
    () => () => {
      if (url !== undefined) URL.revokeObjectURL(url)
    },
    [url],
  )
  const send = async (path: AudioPath, body: object | FormData) => {
    setState({ is_running: true })
    try {
      setState({ is_running: false, result: await readResult(await post(path, body)) })
    } catch (error) {
      setState({ is_running: false, problem: asProblem(error) })
    }
    for (const queryKey of [['account'], ['usage']]) void queries.invalidateQueries({ queryKey })
  }
  return { ...state, send }
}

function post(path: AudioPath, body: object | FormData): Promise<Response> {
  if (body instanceof FormData) return fetchAnswer(path, { method: 'POST', body })
  const headers = { 'content-type': 'application/json' }
  return fetchAnswer(path, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function readResult(response: Response): Promise<SoundResult> {
  const is_words = response.headers.get('content-type')?.startsWith('application/json') === true
  const words: { text?: string } = is_words ? await response.json() : {}
  return {
    url: is_words ? undefined : URL.createObjectURL(await response.blob()),
    text: words.text,
    charge: readCharge(response.headers),
    generation_id: response.headers.get('x-svc-generation-id') ?? undefined,
  }
}

function readCharge(headers: Headers): Charge | undefined {
  const read = (name: string) => Number(headers.get(`x-svc-${name}`) ?? Number.NaN)
  const charge = {
    credits_used: read('credits-used'),
    balance_before: read('balance-before'),
    balance_after: read('balance-after'),
  }
  return Object.values(charge).every(Number.isSafeInteger) ? charge : undefined
}
