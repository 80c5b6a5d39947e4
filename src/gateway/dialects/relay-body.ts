// A provider's whole answer to a client of the same format: the public model name, our numbers, nothing else
// touched.

import { ApiError } from '../../platform/errors.ts'
import { presentNumbers, type WholeAnswer } from './dialect.ts'
import { appendMember, findMember, replaceValue } from './json-scan.ts'

/** The same in both formats: `model` and `svc` are members of the body itself. */
export function relayBody(
  body: string,
  { model, svc }: Pick<WholeAnswer, 'model' | 'svc'>,
): string {
  const member = findMember(body, 'model')
  const renamed = member ? replaceValue(body, member, JSON.stringify(model)) : body
  const answer = appendMember(renamed, 'svc', JSON.stringify(presentNumbers(svc)))
  if (answer === undefined) {
    throw new ApiError('upstream_error', { detail: 'The answer is not a JSON object.' })
  }
  return answer
}
