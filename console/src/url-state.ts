// State in the address: filters, periods, the open dialog, the selected row. So that Back works, and a link shows what
// its sender saw.
//
//   const VIEW = { create: flag(), period: oneOf(['7d', '30d'], '30d'), model: text() }
//   const [view, setView] = useUrlState(VIEW)
//   setView({ create: true })                         a step in the history
//   setView({ model: 'gpt-4o' }, { replace: true })   none

import { useCallback, useMemo } from 'react'
import { useSearchParams } from 'wouter'

type Kind<Value> = {
  readonly read: (raw: string | null) => Value
  readonly write: (value: Value) => string | undefined
}
type Kinds = Record<
  string,
  { read: (raw: string | null) => unknown; write: (value: never) => string | undefined }
>
type Values<K extends Kinds> = { [Name in keyof K]: ReturnType<K[Name]['read']> }

/** `?create=true`, or absent. */
export function flag(): Kind<boolean> {
  return { read: (raw) => raw === 'true', write: (value) => (value ? 'true' : undefined) }
}

/** Any text; empty is absent. */
export function text(): Kind<string> {
  return { read: (raw) => raw ?? '', write: (value) => (value === '' ? undefined : value) }
}

/** One of a closed set; the first choice given as `otherwise` is absent from the address. */
export function oneOf<const Choice extends string>(
  choices: readonly Choice[],
  otherwise: Choice,
): Kind<Choice> {
  return {
    read: (raw) => choices.find((choice) => choice === raw) ?? otherwise,
    write: (value) => (value === otherwise ? undefined : value),
  }
}

/** `kinds` is a constant of the module. Parameters that it does not name stay as they are. */
export function useUrlState<K extends Kinds>(kinds: K) {
  const [search, setSearch] = useSearchParams()
  const values = useMemo(() => readAll(kinds, search), [kinds, search])
  const setValues = useCallback(
    (change: Partial<Values<K>>, options: { replace?: boolean } = {}) =>
      setSearch((before) => writeChange(kinds, before, change), options),
    [kinds, setSearch],
  )
  return [values, setValues] as const
}

function readAll<K extends Kinds>(kinds: K, search: URLSearchParams): Values<K> {
  const entries = Object.entries(kinds).map(([name, kind]) => [name, kind.read(search.get(name))])
  return Object.fromEntries(entries) as Values<K>
}

function writeChange<K extends Kinds>(
  kinds: K,
  before: URLSearchParams,
  change: Partial<Values<K>>,
): URLSearchParams {
  const after = new URLSearchParams(before)
  for (const [name, value] of Object.entries(change)) {
    const written = kinds[name]?.write(value as never)
    if (written === undefined) after.delete(name)
    else after.set(name, written)
  }
  return after
}
