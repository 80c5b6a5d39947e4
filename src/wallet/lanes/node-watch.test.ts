import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fc } from '../../../test/support/same-cases.ts'
import { NodeWatch } from './node-watch.ts'

/** A look of the watcher `own`, which itself beats before each look. */
function makeLooks(watch = new NodeWatch()) {
  let own_beat = 0n
  return (at_ms: number, beats: Record<string, number>, { own_beats = true } = {}) => {
    if (own_beats) own_beat++
    const rows = Object.entries(beats).map(([node_id, beat]) => ({ node_id, beat: BigInt(beat) }))
    const own = { node_id: 'own', beat: own_beat }
    return watch
      .look({ rows: [...rows, own], own_node_id: 'own', asked_ms: at_ms, answered_ms: at_ms })
      .map(({ node_id }) => node_id)
  }
}

describe('a node', () => {
  it('is dead when its beat has not moved for the whole time of a lease, and not before', () => {
    const look = makeLooks()
    for (let at = 0; at < 15_000; at += 2_000) assert.deepEqual(look(at, { a: 1 }), [])
    assert.deepEqual(look(14_999, { a: 1 }), [])
    assert.deepEqual(look(15_000, { a: 1 }), ['a'])
  })

  it('lives as long as its beat moves, wherever it moves to', () => {
    const look = makeLooks()
    // A failover may take the last beats away again.
    const beats = [5, 6, 4, 5, 6, 7, 8, 9]
    beats.forEach((beat, index) => assert.deepEqual(look(index * 7_000, { a: beat }), []))
  })

  it('has the whole time of a lease again after the watcher or the database was away', () => {
    const watch = new NodeWatch()
    const look = makeLooks(watch)
    for (let at = 0; at < 15_000; at += 2_000) look(at, { a: 1 })
    assert.deepEqual(look(314_000, { a: 1 }), [], 'nobody looked for 300 seconds')
    for (let at = 316_000; at < 329_000; at += 2_000) assert.deepEqual(look(at, { a: 1 }), [])
    watch.interrupt()
    for (let at = 329_000; at < 344_000; at += 2_000) assert.deepEqual(look(at, { a: 1 }), [])
    assert.deepEqual(look(344_000, { a: 1 }), ['a'])
  })

  it('is not called dead while the watcher’s own beat does not arrive either', () => {
    const look = makeLooks()
    for (let at = 0; at <= 60_000; at += 2_000) {
      assert.deepEqual(look(at, { a: 1 }, { own_beats: at < 4_000 }), [])
    }
  })

  it('that beats at least every ten seconds of watched time is never called dead, whatever happens', () => {
    const step = fc.record({ pause_ms: fc.nat(9_000), away: fc.boolean(), own_beats: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const watch = new NodeWatch()
        const look = makeLooks(watch)
        let now = 0
        let beat = 0
        let beaten_at = 0
        for (const { pause_ms, away, own_beats } of steps) {
          now += pause_ms
          if (away) {
            // Nobody can write, so nobody beats; and the watcher notices that it cannot read.
            watch.interrupt()
            beaten_at = now
            continue
          }
          if (now - beaten_at >= 1_000) {
            beat++
            beaten_at = now
          }
          assert.deepEqual(look(now, { a: beat }, { own_beats }), [])
        }
      }),
    )
  })
})
