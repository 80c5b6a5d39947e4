import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../platform/errors.ts'
import { GivenUp } from './batch-entry.ts'
import type { BatcherOptions } from './batcher.ts'
import { LIMITS, make, Wanted } from './test-batcher.ts'

describe('a quarantine', () => {
  it('sends an item that somebody holds up apart from the others, and those who need the same with it', async () => {
    const kept = new Set(['odd'])
    const together: number[][] = []
    const apart: number[][] = []
    const batcher = make({
      ...blockedBy(kept, apart),
      send: (items) => {
        together.push([...items])
        return answer(kept, items)
      },
    })
    const odd = [1, 3].map((item) => batcher.submit(item, 'number'))
    assert.equal(await batcher.submit(2, 'number'), 4)
    odd.push(batcher.submit(5, 'number'))
    assert.deepEqual(
      await Promise.all([4, 6].map((item) => batcher.submit(item, 'number'))),
      [8, 12],
    )
    assert.deepEqual(together, [[1, 3, 2], [2], [4, 6]])
    while (!apart.flat().includes(5)) await sleep(1)
    kept.clear()
    assert.deepEqual(await Promise.all(odd), [2, 6, 10])
    await sleep(1)
    // It is free: the next one goes with everybody.
    assert.equal(await batcher.submit(7, 'number'), 14)
    assert.deepEqual(together.at(-1), [7])
    assert.equal(batcher.depth, 0)
  })

  it('gives up what waits apart in the time of its queue, whatever waits before it, and knows that nothing came of it', async () => {
    const kept = new Set(['odd'])
    const batcher = make({
      ...blockedBy(kept),
      queues: [
        {
          ...LIMITS,
          name: 'patient',
          queue_limit: 100,
          apart_limit: 100,
          give_up_after_ms: 60_000,
        },
        { ...LIMITS, name: 'hasty', queue_limit: 100, apart_limit: 100, give_up_after_ms: 100 },
      ],
    })
    const patient = [1, 3, 5, 7, 9].map((item) => batcher.submit(item, 'patient'))
    const began_at = performance.now()
    const error: unknown = await batcher.submit(11, 'hasty').catch((reason: unknown) => reason)
    assert.ok(error instanceof ApiError && !(error instanceof GivenUp))
    assert.ok(performance.now() - began_at < 1_000)
    const closed = batcher.close()
    kept.clear()
    assert.deepEqual(await Promise.all(patient), [2, 6, 10, 14, 18])
    await closed
  })

  it('remembers what is held up when nobody waits for it any more', async () => {
    const kept = new Set(['odd'])
    const together: number[][] = []
    const batcher = make({
      ...blockedBy(kept),
      give_up_after_ms: 50,
      send: (items) => {
        together.push([...items])
        return answer(kept, items)
      },
    })
    await assert.rejects(batcher.submit(1, 'number'), /busy/)
    await assert.rejects(batcher.submit(3, 'number'), /busy/)
    assert.deepEqual(together, [[1]])
    await batcher.close()
  })

  it('gives up what it is just trying, too, when the time to close is over', async () => {
    const kept = new Set(['odd'])
    const trying = Promise.withResolvers<void>()
    const batcher = make({
      ...blockedBy(kept),
      give_up_after_ms: 60_000,
      sendApart: () => {
        trying.resolve()
        return new Promise(() => {})
      },
    })
    const refused = assert.rejects(batcher.submit(1, 'number'), { code: 'service_unavailable' })
    await trying.promise
    await batcher.close(30)
    await refused
    await assert.rejects(batcher.submit(3, 'number'), { code: 'service_unavailable' })
  })

  it('lets what waits apart take only its own room', async () => {
    const kept = new Set(['odd'])
    const queues = [
      { ...LIMITS, batch_limit: 1, queue_limit: 8, apart_limit: 2, give_up_after_ms: 300 },
    ]
    const batcher = make({ ...blockedBy(kept), queues })
    const submit = (item: number) =>
      batcher.submit(item, 'number').then(
        () => 'answered',
        () => 'refused',
      )
    const odd = [submit(1)]
    await sleep(40)
    // Two may wait, one is being tried.
    odd.push(submit(3), submit(5))
    assert.equal(await submit(7), 'refused')
    const even = [2, 4, 6, 8, 10, 12, 14, 16].map(submit)
    assert.equal(await submit(18), 'refused')
    assert.deepEqual(new Set(await Promise.all(even)), new Set(['answered']))
    kept.clear()
    assert.deepEqual(await Promise.all(odd), ['answered', 'answered', 'answered'])
  })

  it('finds the bad item also among those that wait apart, and waits for a server that is away', async () => {
    const kept = new Set(['odd'])
    let away = true
    const batcher = make({
      ...blockedBy(kept),
      give_up_after_ms: 10_000,
      findLockedApart: async (keys) => new Set(keys),
      sendApart: async (items) => {
        if (away) throw new Wanted('unknown')
        if (items.includes(3)) throw new Wanted('refused')
        return items.map((item) => item * 2)
      },
    })
    const [good, bad] = [batcher.submit(1, 'number'), batcher.submit(3, 'number')]
    setTimeout(() => {
      away = false
    }, 50)
    assert.equal(await good, 2)
    // Nobody knows what the first try, which went unanswered, has done.
    await assert.rejects(bad, GivenUp)
    kept.clear()
    await batcher.close()
  })
})

function keyOf(item: number): string {
  return item % 2 === 0 ? 'even' : 'odd'
}

async function answer(kept: ReadonlySet<string>, items: readonly number[]): Promise<number[]> {
  if (items.some((item) => kept.has(keyOf(item)))) {
    await sleep(5)
    throw new Wanted('blocked')
  }
  return items.map((item) => item * 2)
}

/** Items of these keys cannot be sent; `apart` gets what is tried on its own. */
function blockedBy(
  kept: ReadonlySet<string>,
  apart: number[][] = [],
): Omit<BatcherOptions<number, number>, 'queues' | 'classify' | 'observe'> {
  return {
    send: (items) => answer(kept, items),
    keyOf,
    findLocked: async (items) => new Set(items.map(keyOf).filter((key) => kept.has(key))),
    findLockedApart: async (keys) => new Set(keys.filter((key) => kept.has(key))),
    sendApart: (items) => {
      apart.push([...items])
      return answer(kept, items)
    },
  }
}
