// Steps that mostly know their answer. A promise costs more than the step when nothing is waited for.

export type Eventual<Value> = Value | Promise<Value>

/** Goes on with the value: at once if it is there. */
export function andThen<Value, Next>(
  value: Eventual<Value>,
  go: (value: Value) => Eventual<Next>,
): Eventual<Next> {
  return value instanceof Promise ? value.then(go) : go(value)
}
