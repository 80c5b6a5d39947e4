// SQL of failed sign-ins and of the devices that signed in before.

import { type Queryable, statement } from '../../platform/db.ts'

export type FailureRow = { subject: Buffer; count: number; last_at: Date }

// One row at least, with a subject of null where nobody has failed today.
const READ_STANDING = statement<
  { by_device: boolean; by_address: boolean } & (FailureRow | { subject: null })
>(
  'accounts.read_standing',
  `select known.by_device, known.by_address, failure.subject, failure.count, failure.last_at
   from (
     select
       coalesce(bool_or(device.kind = 'device' and device.digest = $2::bytea), false) as by_device,
       coalesce(bool_or(device.kind = 'address' and device.digest = $3::bytea), false) as by_address
     from account
     join known_device device on device.account_id = account.id
     where account.email_key = $1::text
   ) known
   left join sign_in_failure failure
     on failure.day = $4::date
     and failure.subject = any($5::bytea[])`,
)

// In one order, so that two that count the same never wait for each other.
const COUNT_FAILURES = statement<{ subject: Buffer; count: number }>(
  'accounts.count_failures',
  `insert into sign_in_failure (subject, day, count, last_at)
   select subject, $2::date, 1, $3::timestamptz
   from unnest($1::bytea[]) subject
   order by subject
   on conflict (day, subject) do update
   set count = sign_in_failure.count + 1,
       last_at = excluded.last_at
   returning subject, count`,
)

// In the same order as they are counted.
const CLEAR_FAILURES = statement<object>(
  'accounts.clear_failures',
  `with locked as (
     select subject
     from sign_in_failure
     where day = $1::date
       and subject = any($2::bytea[])
     order by subject
     for update
   )
   delete from sign_in_failure
   where day = $1::date
     and subject in (select subject from locked)`,
)

const REMEMBER_DEVICE = statement<object>(
  'accounts.remember_device',
  `insert into known_device (account_id, kind, digest, last_used_at)
   values
     ($1::uuid, 'device', $2::bytea, $4::timestamptz),
     ($1::uuid, 'address', $3::bytea, $4::timestamptz)
   on conflict (account_id, kind, digest) do update
   set last_used_at = excluded.last_used_at`,
)

const FORGET_OLDEST_DEVICES = statement<object>(
  'accounts.forget_oldest_devices',
  `delete from known_device
   where account_id = $1::uuid
     and (kind, digest) in (
       select kind, digest
       from (
         select kind, digest, row_number() over (partition by kind order by last_used_at desc, digest) as place
         from known_device
         where account_id = $1::uuid
       ) ordered
       where place > $2::integer
     )`,
)

const FIND_DEVICE = statement<object>(
  'accounts.find_device',
  `select 1
   from known_device
   where account_id = $1::uuid
     and kind = 'device'
     and digest = $2::bytea`,
)

const PURGE_FAILURES = statement<{ subject: Buffer }>(
  'accounts.purge_failures',
  `delete from sign_in_failure
   where (day, subject) in (
     select day, subject
     from sign_in_failure
     where day < $1::date
     limit $2::integer
   )
   returning subject`,
)

const PURGE_DEVICES = statement<{ digest: Buffer }>(
  'accounts.purge_devices',
  `delete from known_device
   where (account_id, kind, digest) in (
     select account_id, kind, digest
     from known_device
     where last_used_at < $1::timestamptz
     limit $2::integer
   )
   returning digest`,
)

export async function readStanding(
  db: Queryable,
  asked: {
    email_key: string
    device_digest: Buffer | null
    address_digest: Buffer
    day: string
    subjects: readonly Buffer[]
  },
): Promise<{ by_device: boolean; by_address: boolean; failures: FailureRow[] }> {
  const { email_key, device_digest, address_digest, day, subjects } = asked
  const rows = await db.run(READ_STANDING, [
    email_key,
    device_digest,
    address_digest,
    day,
    subjects,
  ])
  return {
    by_device: rows[0]?.by_device ?? false,
    by_address: rows[0]?.by_address ?? false,
    failures: rows.filter((row) => row.subject !== null),
  }
}

/** What each has come to today. */
export async function countFailures(
  db: Queryable,
  failed: { subjects: readonly Buffer[]; day: string; at: Date },
) {
  return await db.run(COUNT_FAILURES, [failed.subjects, failed.day, failed.at])
}

export async function clearFailures(
  db: Queryable,
  cleared: { subjects: readonly Buffer[]; day: string },
): Promise<void> {
  await db.run(CLEAR_FAILURES, [cleared.day, cleared.subjects])
}

export async function saveDevice(
  db: Queryable,
  device: { account_id: string; device_digest: Buffer; address_digest: Buffer; at: Date },
  kept_max: number,
): Promise<void> {
  const { account_id, device_digest, address_digest, at } = device
  await db.run(REMEMBER_DEVICE, [account_id, device_digest, address_digest, at])
  await db.run(FORGET_OLDEST_DEVICES, [account_id, kept_max])
}

export async function isDeviceOf(
  db: Queryable,
  account_id: string,
  device_digest: Buffer,
): Promise<boolean> {
  return (await db.run(FIND_DEVICE, [account_id, device_digest])).length > 0
}

export async function purgeFailures(db: Queryable, before: string, batch: number) {
  return (await db.run(PURGE_FAILURES, [before, batch])).length
}

export async function purgeDevices(db: Queryable, before: Date, batch: number) {
  return (await db.run(PURGE_DEVICES, [before, batch])).length
}
