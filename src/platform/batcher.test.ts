import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Failure, GivenUp, type QueueOptions } from './batch-entry.ts'
import { Batcher, type BatcherOptions, type Blocking } from './batcher.ts'
import { ApiError } from './errors.ts'

class Wanted extends Error {
  readonly failure: Failure
  constructor(failure: Failure) {
    super(failure)
    this.failure = failure
  }
}

const LIMITS: QueueOptions = {
  name: 'number',
  batch_limit: 4,
  queue_limit: 10,
  queue_age_limit_ms: 1_000,
  give_up_after_ms: 1_000,
}

function make(options: Partial<BatcherOptions<number, number> & QueueOptions>) {
  return new Batcher<number, number>({
    queues: [{ ...LIMITS, ...options }],
    send: async (items) => items.map((item) => item * 2),
    classify: (error) => (error instanceof Wanted ? error.failure : 'refused'),
    ...options,
  })
}

const range = (count: number) => Array.from({ length: count }, (_, index) => index)

describe('a batcher', () => {
  it('has one batch in flight, in order, never above its limit', async () => {
    const sizes: number[] = []
    let flying = 0
    const batcher = make({
      send: async (items) => {
        assert.equal(++flying, 1)
        sizes.push(items.length)
        await sleep(1)
        flying--
        return items.map((item) => item * 2)
      },
    })
    const answers = await Promise.all(range(10).map((item) => batcher.submit(item, 'number')))
    assert.deepEqual(
      answers,
      range(10).map((item) => item * 2),
    )
    assert.deepEqual(sizes, [4, 4, 2])
    assert.equal(batcher.depth, 0)
  })

  it('refuses with 503 and Retry-After when its queue is full', async () => {
    const batcher = make({ queue_limit: 3 })
    const results = await Promise.allSettled(range(5).map((item) => batcher.submit(item, 'number')))
    const refused = results.filter((result) => result.status === 'rejected')
    assert.equal(refused.length, 2)
    assert.equal(refused[0]?.reason.code, 'service_unavailable')
    assert.equal(refused[0]?.reason.headers['retry-after'], '1')
  })

  it('refuses while the oldest waiting item is too old, and recovers', async () => {
    let slow = true
    const batcher = make({
      queue_age_limit_ms: 10,
      send: async (items) => {
        if (slow) await sleep(40)
        return [...items]
      },
    })
    const first = batcher.submit(1, 'number')
    await sleep(5)
    const second = batcher.submit(2, 'number')
    await sleep(20)
    await assert.rejects(batcher.submit(3, 'number'), { code: 'service_unavailable' })
    assert.deepEqual(await Promise.all([first, second]), [1, 2])
    slow = false
    assert.equal(await batcher.submit(4, 'number'), 4)
  })

  it('lets a bad item fail alone', async () => {
    const batcher = make({
      batch_limit: 128,
      queue_limit: 128,
      send: async (items) => {
        if (items.includes(77)) throw new Wanted('refused')
        return [...items]
      },
    })
    const results = await Promise.allSettled(
      range(128).map((item) => batcher.submit(item, 'number')),
    )
    const failed = results.flatMap((result, index) => (result.status === 'rejected' ? [index] : []))
    assert.deepEqual(failed, [77])
  })

  it('sends the same items again when the outcome is unknown', async () => {
    const sent: number[][] = []
    const batcher = make({
      send: async (items) => {
        sent.push([...items])
        if (sent.length < 3) throw new Wanted('retry')
        return [...items]
      },
    })
    assert.deepEqual(
      await Promise.all([batcher.submit(1, 'number'), batcher.submit(2, 'number')]),
      [1, 2],
    )
    assert.deepEqual(sent, [
      [1, 2],
      [1, 2],
      [1, 2],
    ])
  })

  it('gives up in time, the waiting items too, and knows of which nothing can have come', async () => {
    const batcher = make({
      give_up_after_ms: 60,
      send: () => Promise.reject(new Wanted('retry')),
    })
    const results = await Promise.allSettled(range(6).map((item) => batcher.submit(item, 'number')))
    const reasons = results.map((result) => result.status === 'rejected' && result.reason)
    for (const reason of reasons) assert.equal(reason.code, 'service_unavailable')
    // A batch takes four: the other two were never sent.
    const unknown = reasons.map((reason) => reason instanceof GivenUp)
    assert.deepEqual(unknown, [true, true, true, true, false, false])
  })

  it('does not keep a hasty item waiting for a patient one when it halves', async () => {
    const batcher = make({
      queues: [
        { ...LIMITS, give_up_after_ms: 400 },
        { ...LIMITS, name: 'hasty', give_up_after_ms: 100 },
      ],
      send: async (items) => {
        throw new Wanted(items.length > 1 ? 'refused' : 'retry')
      },
    })
    const began_at = performance.now()
    const patient = assert.rejects(batcher.submit(1, 'number'), GivenUp)
    await assert.rejects(batcher.submit(2, 'hasty'), GivenUp)
    assert.ok(performance.now() - began_at < 300)
    await patient
  })

  it('takes what undoes an item that is given up while it closes', async () => {
    const undone: number[] = []
    const batcher = make({
      queues: [
        { ...LIMITS, name: 'undo' },
        { ...LIMITS, give_up_after_ms: 40 },
      ],
      send: async (items) => {
        if (items.includes(1)) throw new Wanted('retry')
        undone.push(...items)
        return [...items]
      },
    })
    const work = batcher.submit(1, 'number').catch(() => batcher.submit(-1, 'undo'))
    await sleep(5)
    await batcher.close()
    assert.equal(await work, -1)
    assert.deepEqual(undone, [-1])
    await assert.rejects(batcher.submit(2, 'undo'), { code: 'service_unavailable' })
  })

  it('halves a batch after a few conflicts, and tries a single item until it is given up', async () => {
    const sizes: number[] = []
    const batcher = make({
      give_up_after_ms: 2_000,
      send: async (items) => {
        sizes.push(items.length)
        if (items.length > 1 || sizes.length < 12) throw new Wanted('conflict')
        return [...items]
      },
    })
    assert.deepEqual(
      await Promise.all([batcher.submit(1, 'number'), batcher.submit(2, 'number')]),
      [1, 2],
    )
    assert.deepEqual(sizes.slice(0, 7), [2, 2, 2, 2, 2, 1, 1])
    assert.equal(sizes.length, 13)
    const hopeless = make({
      give_up_after_ms: 60,
      send: () => Promise.reject(new Wanted('conflict')),
    })
    // Nothing of it was done, and that is known.
    await assert.rejects(hopeless.submit(1, 'number'), (error) => {
      return error instanceof ApiError && !(error instanceof GivenUp)
    })
  })

  it('lets no error of the database out, but an answer of ours as it is', async () => {
    const causes = [new Wanted('refused'), new ApiError('insufficient_credits')]
    for (const cause of causes) {
      const batcher = make({ send: () => Promise.reject(cause) })
      const error: unknown = await batcher.submit(1, 'number').catch((reason: unknown) => reason)
      assert.ok(error instanceof ApiError)
      if (cause instanceof ApiError) {
        assert.equal(error, cause)
        continue
      }
      assert.equal(error.code, 'service_unavailable')
      assert.equal(error.cause, cause)
      assert.equal(error.headers['retry-after'], '1')
    }
  })

  it('does not say that nothing was changed when it does not know', async () => {
    const batcher = make({
      give_up_after_ms: 20,
      send: () => Promise.reject(new Wanted('retry')),
    })
    const error: unknown = await batcher.submit(1, 'number').catch((reason: unknown) => reason)
    assert.ok(error instanceof GivenUp)
    assert.match(error.message, /may or may not have been made/)
    assert.doesNotMatch(`${error.message} ${error.hint}`, /nothing was changed/)
  })

  it('answers everything it took when it closes, and takes nothing more', async () => {
    const batcher = make({})
    const answers = Promise.all(range(9).map((item) => batcher.submit(item, 'number')))
    await batcher.close()
    assert.equal((await answers).length, 9)
    await assert.rejects(batcher.submit(1, 'number'), { code: 'service_unavailable' })
  })

  it('takes from every queue, in their order, and lets none fill up another', async () => {
    const sent: number[][] = []
    const batcher = make({
      queues: [
        { ...LIMITS, name: 'first', batch_limit: 2, queue_limit: 3 },
        { ...LIMITS, name: 'second', batch_limit: 3, queue_limit: 3 },
      ],
      send: async (items) => {
        sent.push([...items])
        return [...items]
      },
    })
    const second = [10, 11, 12].map((item) => batcher.submit(item, 'second'))
    await assert.rejects(batcher.submit(13, 'second'), { code: 'service_unavailable' })
    const first = [1, 2, 3].map((item) => batcher.submit(item, 'first'))
    assert.equal(batcher.depth, 6)
    assert.deepEqual(await Promise.all([...first, ...second]), [1, 2, 3, 10, 11, 12])
    assert.deepEqual(sent, [[1, 2, 10, 11, 12], [3]])
  })

  it('gives up each item after the time of its own queue', async () => {
    let failing = true
    const batcher = make({
      queues: [LIMITS, { ...LIMITS, name: 'hasty', give_up_after_ms: 30 }],
      send: async (items) => {
        if (failing) throw new Wanted('retry')
        return [...items]
      },
    })
    const patient = batcher.submit(1, 'number')
    await assert.rejects(batcher.submit(2, 'hasty'), GivenUp)
    failing = false
    assert.equal(await patient, 1)
  })

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
        { ...LIMITS, name: 'patient', queue_limit: 100, give_up_after_ms: 60_000 },
        { ...LIMITS, name: 'hasty', queue_limit: 100, give_up_after_ms: 100 },
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

  it('lets what waits apart take only its own room', async () => {
    const kept = new Set(['odd'])
    const queues = [{ ...LIMITS, batch_limit: 1, queue_limit: 8, give_up_after_ms: 300 }]
    const batcher = make({ ...blockedBy(kept), queues })
    const submit = (item: number) =>
      batcher.submit(item, 'number').then(
        () => 'answered',
        () => 'refused',
      )
    const odd = [submit(1)]
    await sleep(40)
    // A quarter of the queue waits, one is being tried.
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
      blocking: {
        ...blocking(kept, []),
        findBlockedApart: async (keys) => new Set(keys),
        sendApart: async (items) => {
          if (away) throw new Wanted('retry')
          if (items.includes(3)) throw new Wanted('refused')
          return items.map((item) => item * 2)
        },
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
): Pick<BatcherOptions<number, number>, 'send' | 'blocking'> {
  return { send: (items) => answer(kept, items), blocking: blocking(kept, apart) }
}

function blocking(kept: ReadonlySet<string>, apart: number[][]): Blocking<number, number> {
  const findBlocked = async (keys: readonly string[]) =>
    new Set(keys.filter((key) => kept.has(key)))
  return {
    keyOf,
    findBlocked,
    findBlockedApart: findBlocked,
    sendApart: (items) => {
      apart.push([...items])
      return answer(kept, items)
    },
  }
}
