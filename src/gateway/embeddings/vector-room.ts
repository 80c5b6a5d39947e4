// The memory that the vectors of all calls of this process may take together. A request for thousands of long vectors
// costs a fraction of a cent and its answer tens of megabytes, so credits alone would not bound them.

import type { EmbeddingModel } from '../../catalog/models.ts'
import { ApiError } from '../../platform/errors.ts'

const ROOM_BYTES = 512 * 1024 * 1024
/** A number of a vector is four bytes, in base64, as it arrives, as text and as parts of that text. */
const BYTES_PER_NUMBER = 16

export class VectorRoom {
  readonly #most: number
  #taken = 0

  constructor(most_bytes = ROOM_BYTES) {
    this.#most = most_bytes
  }

  /** Throws 503 where it is full. Room is always there for one call alone. */
  async within<Result>(
    { inputs, model }: { inputs: readonly unknown[]; model: EmbeddingModel },
    work: () => Promise<Result>,
  ): Promise<Result> {
    const bytes = inputs.length * model.dimensions * BYTES_PER_NUMBER
    if (this.#taken > 0 && this.#taken + bytes > this.#most) throw full()
    this.#taken += bytes
    try {
      return await work()
    } finally {
      this.#taken -= bytes
    }
  }
}

function full(): ApiError {
  const detail = 'no room for more vectors'
  return new ApiError('service_unavailable', { detail, headers: { 'retry-after': '2' } })
}
