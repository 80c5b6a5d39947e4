import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../../test/support/same-cases.ts'
import { dayOfItem, mintId } from './ids.ts'

const secret = Buffer.alloc(32, 7)
const created = new Date('2026-11-15T23:59:59.999Z')

test('an id has its kind and 26 characters, and says its day', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('resp', 'msg', 'rs', 'fc', 'ctc'),
      fc.date({ min: new Date(0), max: new Date('2600-01-01'), noInvalidDate: true }),
      fc.uuid(),
      fc.nat(5000),
      (prefix, at, call_id, place) => {
        const id = mintId({ secret, call_id, created: at }, prefix, place)
        assert.match(id, new RegExp(`^${prefix}_[0-9A-Za-z]{26}$`))
        assert.equal(dayOfItem(id), at.toISOString().slice(0, 10))
      },
    ),
  )
})

test('the same place of the same call has the same id, and nothing else has it', () => {
  const source = { secret, call_id: 'a', created }
  const id = mintId(source, 'msg', 1)
  assert.equal(mintId({ ...source, created: new Date('2026-11-15T00:00:00Z') }, 'msg', 1), id)
  const others = [
    mintId(source, 'msg', 2),
    mintId(source, 'rs', 1),
    mintId({ ...source, call_id: 'b' }, 'msg', 1),
    mintId({ ...source, secret: Buffer.alloc(32, 8) }, 'msg', 1),
  ]
  const endings = new Set([id, ...others].map((each) => each.slice(-23)))
  assert.equal(endings.size, 5)
})

test('an id that is not ours has no day', () => {
  const id = mintId({ secret, call_id: 'a', created }, 'msg', 0)
  for (const other of [
    '',
    'msg_1',
    `${id}0`,
    id.slice(0, -1),
    ` ${id}`,
    `${id}\n`,
    id.replace('msg', 'ws'),
    'msg_67ccd3acc8d48190a77525dc6de64b4104becb25c45c1d42',
  ]) {
    assert.equal(dayOfItem(other), undefined, other)
  }
})
