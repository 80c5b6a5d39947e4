import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { CredentialCache, type Loaded } from './credential-cache.ts'

type Owner = { name: string }

describe('a credential that was loaded', () => {
  test('is known without waiting from then on', async () => {
    const { cache } = make()
    assert.equal(cache.peek('a'), undefined)
    const owner = await cache.find('a', answering('Ada'))
    assert.deepEqual(owner, { name: 'Ada' })
    assert.equal(cache.peek('a'), owner)
    assert.equal(cache.peek('b'), undefined)
    assert.deepEqual(cache.counts, { hit: 1, miss: 1, unknown: 0, bypass: 0 })
  })

  test('is read once for all who ask at the same time', async () => {
    const { cache } = make()
    const query = slowQuery()
    const asked = [1, 2, 3, 4, 5].map(() => cache.find('a', query.load))
    query.answer('Ada')
    const owners = await Promise.all(asked)
    assert.equal(query.calls(), 1)
    for (const owner of owners) assert.deepEqual(owner, { name: 'Ada' })
  })

  test('is read once for each credential, not once for all', async () => {
    const { cache } = make()
    const [ada, ben] = await Promise.all([
      cache.find('a', answering('Ada')),
      cache.find('b', answering('Ben')),
    ])
    assert.deepEqual([ada, ben], [{ name: 'Ada' }, { name: 'Ben' }])
  })

  test('is not kept when reading it failed; the next one who asks reads again', async () => {
    const { cache } = make()
    const failing = () => Promise.reject(new Error('database away'))
    await assert.rejects(cache.find('a', failing), /database away/)
    assert.deepEqual(await cache.find('a', answering('Ada')), { name: 'Ada' })
  })

  test('is read again after ten seconds at the latest', async (t) => {
    const { cache } = make()
    let now_ms = performance.now()
    t.mock.method(performance, 'now', () => now_ms)
    await cache.find('a', answering('Ada'))
    now_ms += 9_000
    assert.deepEqual(cache.peek('a'), { name: 'Ada' })
    // The library may take its clock's word for a millisecond.
    await eventuallyTurned()
    now_ms += 1_001
    assert.equal(cache.peek('a'), undefined)
  })

  test('makes room for others when there are very many', async () => {
    const { cache } = make()
    await cache.find('first', answering('Ada'))
    for (let i = 0; i < 60_000; i++) await cache.find(`d${i}`, answering('Ben'))
    assert.equal(cache.peek('first'), undefined)
    assert.deepEqual(cache.peek('d59999'), { name: 'Ben' })
    // What made room left no tag behind that would touch the others.
    cache.forget(['name:Ada'])
    assert.deepEqual(cache.peek('d59999'), { name: 'Ben' })
  })
})

describe('a revocation', () => {
  test('drops every credential that carries the tag, and no other', async () => {
    const { cache } = make()
    await cache.find('a1', answering('Ada', ['key:1', 'account:ada']))
    await cache.find('a2', answering('Ada', ['key:2', 'account:ada']))
    await cache.find('b1', answering('Ben', ['key:3', 'account:ben']))
    cache.forget(['key:1', 'key:unheard-of'])
    assert.deepEqual(known(cache, ['a1', 'a2', 'b1']), ['a2', 'b1'])
    cache.forget(['account:ada'])
    assert.deepEqual(known(cache, ['a1', 'a2', 'b1']), ['b1'])
  })

  test('drops a credential again that was loaded again', async () => {
    const { cache } = make()
    for (let round = 0; round < 3; round++) {
      await cache.find('a', answering('Ada', ['key:1', 'account:ada']))
      assert.deepEqual(known(cache, ['a']), ['a'])
      cache.forget([round % 2 ? 'account:ada' : 'key:1'])
      assert.deepEqual(known(cache, ['a']), [], `round ${round}`)
    }
  })

  test('between the read and its answer is not lost: the answer is not kept', async () => {
    const { cache } = make()
    const query = slowQuery()
    const asked = cache.find('a', query.load)
    // The row was read as valid; then the revocation arrived; then the answer.
    cache.forget(['key:1'])
    query.answer('Ada', ['key:1'])
    await asked
    assert.equal(cache.peek('a'), undefined)
  })

  test('of everything between the read and its answer is not lost either', async () => {
    const { cache } = make()
    const query = slowQuery()
    const asked = cache.find('a', query.load)
    cache.forgetAll()
    query.answer('Ada')
    await asked
    assert.equal(cache.peek('a'), undefined)
  })

  test('sends those who ask after it to the database, not to a read that began before it', async () => {
    const { cache } = make()
    const early = slowQuery()
    const late = slowQuery()
    const before = cache.find('a', early.load)
    cache.forget(['key:1'])
    const after = cache.find('a', late.load)
    early.answer('still valid', ['key:1'])
    late.answer(undefined)
    assert.deepEqual(await before, { name: 'still valid' })
    assert.equal(await after, undefined)
    assert.equal(cache.peek('a'), undefined)
  })

  test('does not end the sharing of a read that began after it', async () => {
    const { cache } = make()
    const early = slowQuery()
    const late = slowQuery()
    const before = cache.find('a', early.load)
    cache.forget(['key:1'])
    const second = cache.find('a', late.load)
    early.answer('Ada')
    await before
    const third = cache.find('a', late.load)
    late.answer('Ada')
    await Promise.all([second, third])
    assert.equal(late.calls(), 1)
  })

  test('of everything drops everything, also what is known not to exist', async () => {
    const { cache } = make()
    await cache.find('a', answering('Ada'))
    await cache.find('nobody', unknown)
    cache.forgetAll()
    assert.deepEqual(known(cache, ['a']), [])
    assert.deepEqual(await cache.find('nobody', answering('now here')), { name: 'now here' })
  })
})

describe('a credential nobody has', () => {
  test('is asked for once a second, however often it is tried', async () => {
    const { cache } = make()
    let queries = 0
    const load = async () => {
      queries++
      return undefined
    }
    for (let i = 0; i < 50; i++) assert.equal(await cache.find('x', load), undefined)
    assert.equal(queries, 1)
    assert.deepEqual(cache.counts, { hit: 0, miss: 1, unknown: 49, bypass: 0 })
    const took_ms = await eventually('it is asked for again', async () => {
      await cache.find('x', load)
      return queries > 1
    })
    assert.ok(took_ms > 500 && took_ms < 1_500, `after ${took_ms} ms`)
  })

  test('is remembered among 10,000 such; an attacker with more cannot fill the memory', async () => {
    const { cache } = make()
    let queries = 0
    const load = async () => {
      queries++
      return undefined
    }
    for (let i = 0; i <= 10_000; i++) await cache.find(`x${i}`, load)
    assert.equal(queries, 10_001)
    await cache.find('x10000', load)
    assert.equal(queries, 10_001, 'the newest was forgotten')
    await cache.find('x0', load)
    assert.equal(queries, 10_002, 'the oldest is still remembered')
  })

  test('is not remembered when a revocation came in between', async () => {
    const { cache } = make()
    const query = slowQuery()
    const asked = cache.find('x', query.load)
    cache.forget(['key:1'])
    query.answer(undefined)
    await asked
    assert.deepEqual(await cache.find('x', answering('Ada')), { name: 'Ada' })
  })
})

describe('while revocations cannot be read', () => {
  test('nothing is answered from memory, known or unknown, and nothing is kept', async () => {
    const { cache, trust } = make()
    await cache.find('a', answering('Ada'))
    await cache.find('x', unknown)
    trust(false)
    assert.equal(cache.peek('a'), undefined)
    assert.deepEqual(await cache.find('x', answering('now here')), { name: 'now here' })
    assert.equal(await cache.find('a', unknown), undefined)
    await cache.find('new', answering('Ben'))
    assert.deepEqual(cache.counts, { hit: 0, miss: 2, unknown: 0, bypass: 3 })
    trust(true)
    assert.equal(cache.peek('new'), undefined)
  })

  test('no two callers share an answer: each asks the database', async () => {
    const { cache, trust } = make()
    trust(false)
    const query = slowQuery()
    const asked = [cache.find('a', query.load), cache.find('a', query.load)]
    query.answer('Ada')
    await Promise.all(asked)
    assert.equal(query.calls(), 2)
  })
})

function make() {
  let trusted = true
  const cache = new CredentialCache<Owner>({ isTrusted: () => trusted })
  const trust = (value: boolean) => {
    trusted = value
  }
  return { cache, trust }
}

function answering(name: string, tags = [`name:${name}`]) {
  return async (): Promise<Loaded<Owner>> => ({ value: { name }, tags })
}

async function unknown(): Promise<undefined> {}

/** A read whose answer comes when the test says so. */
function slowQuery() {
  const { promise, resolve } = Promise.withResolvers<Loaded<Owner> | undefined>()
  let calls = 0
  return {
    load: () => {
      calls++
      return promise
    },
    calls: () => calls,
    answer: (name: string | undefined, tags: string[] = []) =>
      resolve(name === undefined ? undefined : { value: { name }, tags }),
  }
}

function known(cache: CredentialCache<Owner>, digests: string[]): string[] {
  return digests.filter((digest) => cache.peek(digest) !== undefined)
}

async function eventuallyTurned(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 5))
}
