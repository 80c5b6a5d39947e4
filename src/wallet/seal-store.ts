// The SQL of seals: what is written when a month is sealed or archived, what its files hold, and what is proved of it.

import { type Statement, statement } from '../platform/db.ts'
import { LAST_PROMOTIONAL, LINES, opening, type ProofRow, proof } from './check-store.ts'
import { type Month, partitionOf, rangeOf } from './months.ts'

export const TRY_SEAL_LOCK = statement<{ locked: boolean }>(
  'wallet.try_seal_lock',
  'select pg_try_advisory_xact_lock(7233004) as locked',
)

export const TRY_ARCHIVE_LOCK = statement<{ locked: boolean }>(
  'wallet.try_archive_lock',
  'select pg_try_advisory_xact_lock(7233005) as locked',
)

export type SealState = { now: Date; last_sealed: string | null; first_partition: string | null }

export const SELECT_SEAL_STATE = statement<SealState>(
  'wallet.select_seal_state',
  `select ledger_now() as now,
     (select to_char(max(month), 'YYYY-MM') from ledger_seal) as last_sealed,
     (select min(translate(right(c.relname, 7), 'm', '-'))
      from pg_inherits i
      join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'journal'::regclass and c.relname ~ '^journal_y[0-9]{4}m[0-9]{2}$') as first_partition`,
)

export type SealRow = {
  month: Month
  sealed_at: Date
  archived_at: Date | null
  previous_digest: string
  digest: string
}

export const SELECT_SEALS = statement<SealRow>(
  'wallet.select_seals',
  `select to_char(month, 'YYYY-MM') as month, sealed_at, archived_at, previous_digest, digest
   from ledger_seal
   order by month`,
)

export type SealPartRow = { part: string; rows: bigint; digest: string }

export const SELECT_SEAL_PARTS = statement<SealPartRow>(
  'wallet.select_seal_parts',
  `select part, rows, digest
   from ledger_seal_part
   where month = $1::date`,
)

export const COUNT_HOLDS_OF_RANGE = statement<{ count: bigint }>(
  'wallet.count_holds_of_range',
  `select count(*) as count
   from hold
   where bucket = any ($1::smallint[])
     and id_time(id) >= $2::timestamptz
     and id_time(id) < $3::timestamptz`,
)

export const INSERT_WALLET_SEALS = statement<object>(
  'wallet.insert_wallet_seals',
  `insert into wallet_seal (bucket, wallet_id, month, balance, promotional, seq)
   select distinct on (bucket, owner)
     bucket, owner, ($2::timestamptz at time zone 'UTC')::date, balance_after, promotional_after, wallet_seq
   from journal
   where ${LINES} and wallet_seq is not null
   order by bucket, owner, wallet_seq desc`,
  { may_take_long: true },
)

export const INSERT_ACCOUNT_SEALS = statement<object>(
  'wallet.insert_account_seals',
  `insert into account_seal (bucket, account, month, lines, total)
   select bucket, account, ($2::timestamptz at time zone 'UTC')::date, sum(lines), sum(total)
   from (
     select bucket, account, count(*) as lines, sum(amount) as total
     from journal
     where ${LINES}
     group by bucket, account
     union all
     select bucket, account, lines, total
     from account_seal
     where bucket = any ($1::smallint[])
       and month = (($2::timestamptz at time zone 'UTC') - interval '1 month')::date
   ) totals
   group by bucket, account`,
  { may_take_long: true },
)

export const INSERT_SEAL = statement<object>(
  'wallet.insert_seal',
  `insert into ledger_seal (month, sealed_at, previous_digest, digest)
   values ($1::date, ledger_now(), $2::text, $3::text)`,
)

export const INSERT_SEAL_PARTS = statement<object>(
  'wallet.insert_seal_parts',
  `insert into ledger_seal_part (month, part, rows, digest)
   select $1::date, part, rows, digest
   from unnest($2::text[], $3::bigint[], $4::text[]) as u (part, rows, digest)`,
)

export const ARCHIVE_MONTH = statement<object>(
  'wallet.archive_month',
  'select archive_ledger_month(p_month => $1::date, p_drop => $2::boolean)',
)

/**
 * For one transaction: a month is sorted on disk, a slow disk of ours is waited for, and what is read as text always reads
 * the same.
 */
export const PREPARE_TO_READ_MONTHS: Statement<object> = {
  name: 'wallet.prepare_to_read_months',
  text: `select set_config(name, value, true)
    from (values ('work_mem', '64MB'), ('statement_timeout', '0'), ('lock_timeout', '5s'),
      ('idle_in_transaction_session_timeout', '0'), ('timezone', 'UTC'), ('datestyle', 'ISO, MDY'),
      ('bytea_output', 'hex')) as s (name, value)`,
}

/** Waits for what is just being posted to the month. Calls of other months do not notice. */
export function lockMonth(month: Month): Statement<object> {
  const tables = [partitionOf('journal', month), partitionOf('usage_event', month)]
  return {
    name: '',
    text: `lock table ${tables.join(', ')} in share row exclusive mode`,
  }
}

export const CLOSE_MONTH = statement<object>(
  'wallet.close_month',
  'select close_ledger_month(p_month => $1::date)',
)

/** The files of a month. Their order is that of the digests in its seal. */
export const SEAL_PARTS = ['journal', 'usage', 'wallets', 'accounts', 'prices'] as const
export type SealPart = (typeof SEAL_PARTS)[number]

const USAGE_COLUMNS = `bucket, id, at, wallet_id, developer_id, key_id, client_id, external_user_id, billing_mode, endpoint,
  model, state, outcome, estimated, credits_used, cost_credits, markup_credits, shortfall_credits, promotional_credits, balance_before,
  balance_after, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
  price_list_id, first_byte_ms, total_ms, request_id, provider_request_id, raw_usage, details, stream, error_code`

/** One part of a month as CSV with a header. `copy` takes no parameters: the month is of our own making. */
export function copyPart(part: SealPart, month: Month): string {
  const { from, to } = rangeOf(month)
  const in_month = `at >= '${from.toISOString()}' and at < '${to.toISOString()}'`
  const queries: Record<SealPart, string> = {
    journal: `select bucket, tx, line, at, account, owner, amount, wallet_seq, balance_after, promotional_after, kind,
        description
      from journal where ${in_month} order by bucket, tx, line`,
    usage: `select ${USAGE_COLUMNS} from usage_event where ${in_month} order by bucket, id`,
    wallets: `select bucket, wallet_id, balance, promotional, seq from wallet_seal
      where month = '${month}-01' order by bucket, wallet_id`,
    accounts: `select bucket, account, lines, total from account_seal
      where month = '${month}-01' order by bucket, account`,
    prices: `select id, first_used_at, digest, prices from price_list
      where id in (select price_list_id from usage_event where ${in_month}) order by id`,
  }
  return `copy (${queries[part]}) to stdout (format csv, header true)`
}

/** Of a sealed month: what its seal says of wallets and accounts, against its lines. */
export const SEALED_PROOFS: readonly Statement<ProofRow>[] = [
  proof(
    'wallet.prove_closing_is_opening_and_lines',
    `select c.balance is distinct from coalesce(o.balance, 0) + c.total
         or c.seq is distinct from coalesce(o.seq, 0) + c.lines
         or c.promotional is distinct from c.last_promotional as differs,
       format('wallet %s: closes at %s, line %s, promotional %s; opened at %s, then %s in %s lines, promotional %s',
         c.wallet_id, c.balance, c.seq, c.promotional, o.balance, c.total, c.lines, c.last_promotional) as what
     from (
       select coalesce(s.bucket, j.bucket) as bucket, coalesce(s.wallet_id, j.owner) as wallet_id, s.balance, s.seq,
         s.promotional, j.total, j.lines, j.promotional as last_promotional
       from (
         select * from wallet_seal
         where bucket = any ($1::smallint[]) and month = ($2::timestamptz at time zone 'UTC')::date
       ) s
       full join (
         select bucket, owner, sum(amount)::bigint as total, count(*) as lines, ${LAST_PROMOTIONAL} as promotional
         from journal
         where ${LINES} and account = 'wallet'
         group by bucket, owner
       ) j on j.bucket = s.bucket and j.owner = s.wallet_id
     ) c
     left join lateral (${opening({ bucket: 'c.bucket', id: 'c.wallet_id' })}) o on true`,
  ),
  proof(
    'wallet.prove_account_totals_add_up',
    `select sum(total) <> 0 or sum(lines) <> 0 as differs,
       format('account %s of bucket %s: the seal is %s credits and %s lines short', account, bucket, sum(total),
         sum(lines)) as what
     from (
       select bucket, account, amount as total, 1 as lines
       from journal
       where ${LINES}
       union all
       select bucket, account, total, lines
       from account_seal
       where bucket = any ($1::smallint[])
         and month = (($2::timestamptz at time zone 'UTC') - interval '1 month')::date
       union all
       select bucket, account, -total, -lines
       from account_seal
       where bucket = any ($1::smallint[]) and month = ($2::timestamptz at time zone 'UTC')::date
     ) totals
     group by bucket, account`,
  ),
]
