// Caches that forget what was not used for the longest time. Given `max`, the library takes the room of all entries at
// once, which was a tenth of a start; counted as sizes of one, the entries take it as they come.

import { LRUCache } from 'lru-cache'

export function createLruCache<Key extends string, Value extends object | string | number | true>(
  entries_max: number,
  options: Pick<LRUCache.Options<Key, Value, unknown>, 'ttl' | 'dispose'> = {},
): LRUCache<Key, Value> {
  return new LRUCache<Key, Value>({ ...options, maxSize: entries_max, sizeCalculation: () => 1 })
}
