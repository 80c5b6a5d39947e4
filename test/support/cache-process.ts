// Another process of the service, as far as cached credentials go: a pool, a feed and a cache. It says when
// it is ready, loads what it is told to, and tells when each is no longer known.

import { CredentialCache } from '../../src/platform/credential-cache.ts'
import { Db } from '../../src/platform/db.ts'
import { InvalidationFeed } from '../../src/platform/invalidation.ts'
import { createLog } from '../../src/platform/log.ts'

const WATCH_EVERY_MS = 2

const [database_url = '', listen_url = ''] = process.argv.slice(2)
const db = new Db({ url: database_url, pool_size: 2, application_name: 'svc test' })
const cache = new CredentialCache<{ tag: string }>({ isTrusted: () => feed.trusted })
const feed = new InvalidationFeed({
  db,
  url: listen_url,
  log: createLog({ level: 'silent' }),
  caches: [cache],
  onTrust: () => {},
})

const watched = new Set<string>()
setInterval(() => {
  for (const tag of watched) {
    if (cache.peek(tag) === undefined && feed.trusted) {
      watched.delete(tag)
      process.send?.({ forgotten: tag })
    }
  }
}, WATCH_EVERY_MS)

process.on('message', (tag: string) => {
  void cache
    .find(tag, async () => ({ value: { tag }, tags: [tag] }))
    .then(() => {
      watched.add(tag)
      process.send?.({ loaded: tag })
    })
})
process.on('disconnect', () => process.exit())

await feed.start()
process.send?.({ ready: true })
