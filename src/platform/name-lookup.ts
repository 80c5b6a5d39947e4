// Looks up names without the thread pool. `dns.lookup` blocks one of Node's four threads for as long as a name server
// takes: four names with slow servers would stop every other lookup, the hashing of passwords and the disk.

import { Resolver } from 'node:dns'

const QUERY_MS = 1_000
const QUERY_TRIES = 2

/** Answers every address of a name: at least one, or an error. */
export type NameLookup = (
  hostname: string,
  callback: (error: NodeJS.ErrnoException | null, found: readonly { address: string }[]) => void,
) => void

export const NAME_NOT_FOUND = 'SVC_NAME_NOT_FOUND'

export class NameNotFound extends Error {
  readonly code = NAME_NOT_FOUND

  /** `cause` says what the name servers answered. */
  constructor(cause: unknown) {
    super('the name was not found', { cause })
    this.name = 'NameNotFound'
  }
}

/** Asks the name servers of /etc/resolv.conf; /etc/hosts is not read, because only public names are wanted. */
export function resolverLookup(options: { servers?: readonly string[] } = {}): NameLookup {
  const resolver = new Resolver({ timeout: QUERY_MS, tries: QUERY_TRIES, maxTimeout: QUERY_MS })
  if (options.servers) resolver.setServers(options.servers)
  return (hostname, callback) => {
    let waiting = 2
    let fault: Error | undefined
    const found: { address: string }[] = []
    const collect = (error: Error | null, addresses: readonly string[] | undefined) => {
      waiting -= 1
      fault ??= error ?? undefined
      for (const address of addresses ?? []) found.push({ address })
      if (waiting > 0) return
      // All of them are judged, also those that are not dialled.
      if (found.length > 0) callback(null, found)
      else callback(new NameNotFound(fault), [])
    }
    resolver.resolve4(hostname, collect)
    resolver.resolve6(hostname, collect)
  }
}
