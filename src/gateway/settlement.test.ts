import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../platform/errors.ts'
import { withoutRetry } from './settlement.ts'

test('a fault that was paid for tells all that it told before, and that nobody should ask again', () => {
  const shared = { 'retry-after': '1' }
  const options = {
    message: 'Too long.',
    param: 'messages',
    provider_code: 'context_length_exceeded',
    details: { error_code: 'x' },
    headers: shared,
  }
  const told = withoutRetry(new ApiError('bad_request', options))
  assert.deepEqual(
    [told.message, told.param, told.provider_code, told.details],
    [options.message, options.param, options.provider_code, options.details],
  )
  assert.deepEqual(told.headers, { 'retry-after': '1', 'x-should-retry': 'false' })
  assert.deepEqual(shared, { 'retry-after': '1' })
  const bug = new Error('a bug')
  assert.equal(withoutRetry(bug).cause, bug)
})
