// Looks up names without the thread pool. `dns.lookup` blocks one of Node's four threads for as long as a name server
// takes: four names with slow servers would stop every other lookup, the hashing of passwords and the disk.

import { Resolver } from 'node:dns'

/** Of all that a name takes. Less than a connection may take, so that it is told apart from a host that is silent. */
const LOOKUP_MS = 2_000
const QUERY_MS = 900
const QUERY_TRIES = 2

/** Answers every address of a name: at least one, or an error. */
export type NameLookup = (
  hostname: string,
  callback: (error: NodeJS.ErrnoException | null, found: readonly { address: string }[]) => void,
) => void

export class NameNotFound extends Error {
  readonly code = 'SVC_NAME_NOT_FOUND'
  /** Rather than that the name does not exist. */
  readonly is_silence: boolean

  constructor(options: { is_silence: boolean; cause?: unknown }) {
    super('the name was not found', { cause: options.cause })
    this.name = 'NameNotFound'
    this.is_silence = options.is_silence
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
    const finish = () => {
      waiting = 0
      clearTimeout(timer)
      if (found.length > 0) callback(null, found)
      else callback(new NameNotFound({ is_silence: isSilence(fault), cause: fault }), [])
    }
    const collect = (error: Error | null, addresses: readonly string[] | undefined) => {
      // The time was over before.
      if (waiting === 0) return
      waiting -= 1
      fault ??= error ?? undefined
      for (const address of addresses ?? []) found.push({ address })
      if (waiting === 0) finish()
    }
    const timer = setTimeout(finish, LOOKUP_MS)
    resolver.resolve4(hostname, collect)
    resolver.resolve6(hostname, collect)
  }
}

function isSilence(fault: Error | undefined): boolean {
  if (fault === undefined) return true
  return 'code' in fault && /^(ETIMEOUT|ECONNREFUSED|ESERVFAIL)$/.test(String(fault.code))
}
