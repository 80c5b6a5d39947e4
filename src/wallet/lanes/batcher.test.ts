import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../platform/errors.ts'
import { GivenUp } from './batch-entry.ts'
import { LIMITS, make, Wanted } from './test-batcher.ts'

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
    const gate = Promise.withResolvers<void>()
    const batcher = make({
      queue_age_limit_ms: 300,
      send: async (items) => {
        await gate.promise
        return [...items]
      },
    })
    const first = batcher.submit(1, 'number')
    await sleep(5)
    const second = batcher.submit(2, 'number')
    await sleep(350)
    await assert.rejects(batcher.submit(3, 'number'), { code: 'service_unavailable' })
    gate.resolve()
    assert.deepEqual(await Promise.all([first, second]), [1, 2])
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
        if (sent.length < 3) throw new Wanted('unknown')
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
    let tries = 0
    const batcher = make({
      give_up_after_ms: 60,
      send: () => Promise.reject(new Wanted(tries++ === 0 ? 'unknown' : 'unreachable')),
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
        throw new Wanted(items.length > 1 ? 'refused' : 'unknown')
      },
    })
    const began_at = performance.now()
    const patient = assert.rejects(batcher.submit(1, 'number'), GivenUp)
    await assert.rejects(batcher.submit(2, 'hasty'), GivenUp)
    assert.ok(performance.now() - began_at < 300)
    await patient
  })

  it('gives up in time who waits in the queue while a batch is taken apart, and sends it to nobody', async () => {
    const sent: number[] = []
    const batcher = make({
      batch_limit: 8,
      queues: [
        { ...LIMITS, batch_limit: 8, give_up_after_ms: 5_000 },
        { ...LIMITS, name: 'hasty', give_up_after_ms: 100 },
      ],
      send: async (items) => {
        sent.push(...items)
        await sleep(50)
        throw new Wanted('refused')
      },
    })
    const patient = Promise.allSettled(range(8).map((item) => batcher.submit(item, 'number')))
    await sleep(20)
    const began_at = performance.now()
    await assert.rejects(batcher.submit(99, 'hasty'), (error) => {
      return error instanceof ApiError && !(error instanceof GivenUp)
    })
    // Fifteen tries of 50 ms are under way, and more than half of them were still to come.
    assert.ok(performance.now() - began_at < 350)
    assert.ok((await patient).every(({ status }) => status === 'rejected'))
    assert.equal(sent.includes(99), false)
  })

  it('takes what undoes an item that is given up while it closes', async () => {
    const undone: number[] = []
    const batcher = make({
      queues: [
        { ...LIMITS, name: 'undo' },
        { ...LIMITS, give_up_after_ms: 40 },
      ],
      send: async (items) => {
        if (items.includes(1)) throw new Wanted('unknown')
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

  it('takes a batch apart after three failures of any kind, and tries whoever fails alone until it is given up', async () => {
    for (const kind of ['conflict', 'failed', 'unknown'] as const) {
      const sizes: number[] = []
      let apart = 0
      const batcher = make({
        give_up_after_ms: 5_000,
        send: async (items) => {
          sizes.push(items.length)
          if (items.includes(2)) throw new Wanted(kind)
          return [...items]
        },
        sendApart: async (items) => {
          if (apart++ < 4) throw new Wanted(kind)
          return [...items]
        },
      })
      const answers = [1, 2, 3, 4].map((item) => batcher.submit(item, 'number'))
      assert.deepEqual(await Promise.all(answers), [1, 2, 3, 4])
      // Three times all of them, the half with 2 in it, 1, 2, and the other half.
      assert.deepEqual(sizes, [4, 4, 4, 2, 1, 1, 2], kind)
    }
    const hopeless = make({
      give_up_after_ms: 60,
      send: () => Promise.reject(new Wanted('conflict')),
    })
    // Nothing of it was done, and that is known.
    await assert.rejects(hopeless.submit(1, 'number'), (error) => {
      return error instanceof ApiError && !(error instanceof GivenUp)
    })
  })

  it('never takes a batch apart because the server is away', async () => {
    const sizes: number[] = []
    const batcher = make({
      send: async (items) => {
        sizes.push(items.length)
        if (sizes.length < 6) throw new Wanted('unreachable')
        return [...items]
      },
    })
    await Promise.all([1, 2].map((item) => batcher.submit(item, 'number')))
    assert.deepEqual(sizes, [2, 2, 2, 2, 2, 2])
  })

  it('sends an item that fails apart, and those who need the same with it, while the others go on', async () => {
    let broken = true
    const together: number[][] = []
    const fail = async (items: readonly number[]) => {
      if (broken && items.some((item) => item % 2 === 1)) throw new Wanted('failed')
      return [...items]
    }
    const batcher = make({
      keyOf: (item) => (item % 2 === 0 ? String(item) : 'odd'),
      send: (items) => {
        together.push([...items])
        return fail(items)
      },
      sendApart: fail,
    })
    const odd = [batcher.submit(1, 'number')]
    assert.equal(await batcher.submit(2, 'number'), 2)
    const before = together.length
    odd.push(batcher.submit(3, 'number'))
    assert.equal(await batcher.submit(4, 'number'), 4)
    assert.deepEqual(together.slice(before), [[4]])
    broken = false
    assert.deepEqual(await Promise.all(odd), [1, 3])
    await sleep(1)
    assert.equal(await batcher.submit(5, 'number'), 5)
    assert.deepEqual(together.at(-1), [5])
  })

  it('gives up whatever has no answer when the time to close is over', async () => {
    const batcher = make({
      give_up_after_ms: 60_000,
      send: (items) =>
        items.includes(1) ? new Promise(() => {}) : Promise.reject(new Wanted('unreachable')),
    })
    const sent = batcher.submit(1, 'number')
    await sleep(5)
    const late = batcher.submit(2, 'number')
    const refused = Promise.allSettled([sent, late])
    const began_at = performance.now()
    await batcher.close(50)
    assert.ok(performance.now() - began_at < 2_000)
    const [first, second] = await refused
    assert.equal(first.status, 'rejected')
    assert.equal(second.status, 'rejected')
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
      send: () => Promise.reject(new Wanted('unknown')),
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
        if (failing) throw new Wanted('unknown')
        return [...items]
      },
    })
    const patient = batcher.submit(1, 'number')
    await assert.rejects(batcher.submit(2, 'hasty'), GivenUp)
    failing = false
    assert.equal(await patient, 1)
  })
})
