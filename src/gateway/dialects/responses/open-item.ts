// What the items of an output have in common while they are written.

import type { OutputItem } from './terms.ts'

/** An item while it is written. Each method returns the records to send. */
export interface OpenItem {
  open(): string
  /** Nothing where it is closed already. */
  close(status: ItemStatus): string
  /** Nothing more will come, and nothing is sent about it. */
  breakOff(): void
  present(): OutputItem
}

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'
