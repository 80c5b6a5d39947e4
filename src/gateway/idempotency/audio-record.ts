// Audio as it will be sent again, while there is room for it.

import type { ApiError } from '../../platform/errors.ts'
import type { SvcNumbers } from '../dialects/dialect.ts'
import type { Claim } from './claim.ts'
import { RESULT_MAX_BYTES } from './kept-result.ts'

export class AudioRecord {
  readonly #claim: Claim
  #pieces: Uint8Array[] = []
  #bytes = 0

  constructor(claim: Claim) {
    this.#claim = claim
  }

  /** Whether it is worth reading on for whoever comes back. */
  get has_room(): boolean {
    return this.#bytes <= RESULT_MAX_BYTES
  }

  add(piece: Uint8Array): void {
    this.#bytes += piece.length
    if (this.has_room) this.#pieces.push(piece)
    else this.#pieces = []
  }

  /** All of it has come. */
  async keep(
    svc: SvcNumbers,
    how: { content_type: string; present: (audio: Buffer) => string | Buffer },
  ): Promise<void> {
    if (!this.has_room) return await this.#claim.drop()
    const body = how.present(Buffer.concat(this.#pieces))
    await this.#claim.keepBody(body, { content_type: how.content_type, svc })
  }

  async fail(fault: ApiError): Promise<void> {
    await this.#claim.fail(fault)
  }
}
