// A primary and its streaming standby, with a delay on the WAL link: loopback alone cannot tell a synchronous standby
// from an asynchronous one.

import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/embedded-postgres.ts'
import { migrate } from '../../src/platform/migrate.ts'
import { sql } from '../support/database.ts'
import { Proxy } from './proxy.ts'

const WAL_DELAY_MS = 20

export type Cluster = {
  primary: EmbeddedPostgres
  standby: EmbeddedPostgres
  /** What the gateway connects to: the address that moves at a failover. */
  address: Proxy
  wal_link: Proxy
  url: string
  remove(): Promise<void>
}

/** A primary and a standby made from it while it runs: backup, file copy, label, signal file. */
export async function makeCluster(synchronous: boolean): Promise<Cluster> {
  const folders = ['primary', 'standby'].map((name) =>
    mkdtempSync(path.join(tmpdir(), `svc-${name}-`)),
  )
  const [first = '', second = ''] = folders
  const primary = await startEmbeddedPostgres({
    data_dir: first,
    log: () => {},
    settings: synchronous ? { synchronous_standby_names: '*', synchronous_commit: 'local' } : {},
  })
  // Until the standby is there, `local` lets the schema be made without waiting for it.
  await migrate(primary.url)
  const wal_link = new Proxy(Number(new URL(primary.url).port))
  wal_link.delay_ms = WAL_DELAY_MS
  const wal_url = new URL(primary.url)
  wal_url.port = String(await wal_link.listen())
  await copyCluster(primary.url, { from: first, to: second })
  const standby = await startEmbeddedPostgres({
    data_dir: second,
    log: () => {},
    settings: { primary_conninfo: wal_url.toString(), hot_standby: 'on' },
  })
  await until(
    async () => (await sql(primary.url, 'select 1 from pg_stat_replication')).length === 1,
  )
  // The lanes ask for it themselves; the pool takes what the server says.
  if (synchronous) await sql(primary.url, `alter database svc set synchronous_commit = 'on'`)
  const address = new Proxy(Number(new URL(primary.url).port))
  const url = new URL(primary.url)
  url.port = String(await address.listen())
  const remove = async () => {
    await address.close()
    await wal_link.close()
    await standby.stop()
    await primary.stop().catch(() => {})
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  }
  return { primary, standby, address, wal_link, url: url.toString(), remove }
}

async function copyCluster(url: string, folders: { from: string; to: string }): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query("select pg_backup_start('standby', true)")
  const target = path.join(folders.to, 'postgres')
  mkdirSync(target, { mode: 0o700 })
  const skipped = /postgres\/(postmaster\.(pid|opts)|pg_replslot\/.|pg_stat_tmp\/.)/
  cpSync(path.join(folders.from, 'postgres'), target, {
    recursive: true,
    filter: (name) => !skipped.test(name),
  })
  cpSync(path.join(folders.from, 'postgres-password'), path.join(folders.to, 'postgres-password'))
  const { rows } = await client.query<{ labelfile: string }>(
    'select labelfile from pg_backup_stop(false)',
  )
  writeFileSync(path.join(target, 'backup_label'), rows[0]?.labelfile ?? '')
  writeFileSync(path.join(target, 'standby.signal'), '')
  await client.end()
}

export async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    if (await isTrue().catch(() => false)) return
    await sleep(20)
  }
  throw new Error('it never came true')
}

/** kill -9 of the postmaster; its children die with the shared memory it guards. */
export async function failOver(cluster: Cluster): Promise<void> {
  const ended = new Promise<string>((resolve) => cluster.primary.onExit(resolve))
  // What is on its way to the standby is lost with the primary's machine.
  cluster.wal_link.cutAll()
  process.kill(cluster.primary.pid, 'SIGKILL')
  await ended
  cluster.address.cutAll()
  await sql(cluster.standby.url, 'select pg_promote(true, 30)')
  cluster.address.target_port = Number(new URL(cluster.standby.url).port)
}
