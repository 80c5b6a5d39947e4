// Where the process stands between start and stop, as its probes and its connections need to know it.

export type Phase = 'starting' | 'ready' | 'draining'

export type Lifecycle = { phase: Phase }

export function createLifecycle(): Lifecycle {
  return { phase: 'starting' }
}
