// Texts and JSON values that are hard on whoever reads or writes them.

import { fc } from '../../../test/support/same-cases.ts'

export const words = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('', '\n\n', '\r\ndata: x', '"', '\\', '[DONE]', '"model":"x"', '😀'),
)

// Keys without escapes: V8 14.6 mixes up escaped keys when it parses (nodejs/node#63785), which would show as
// a difference between two equal texts.
export const keys = fc.string({ maxLength: 6 }).map((key) => key.replaceAll(/["\\]/g, ''))
export const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    words,
    fc.constantFrom(null, true, 0, -1.5, 1e21),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(keys, tie('value'), { maxKeys: 3 }),
  ),
})).value
