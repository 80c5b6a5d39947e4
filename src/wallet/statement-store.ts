// The SQL of a wallet's statement.

import { statement } from '../platform/db.ts'

export type StatementRow = {
  id: string
  kind: string
  amount: bigint
  balance_before: bigint
  balance_after: bigint
  description: string | null
  generation_id: string | null
  /** The app that a call came through; its name is null once the app is gone. */
  client_id: string | null
  app_name: string | null
  created_at: Date
  wallet_seq: bigint
}

/** $1 bucket, $2 wallet, $3 before this place, $4 from this place on, $5 kind, $6 how many. */
function selectLines(of_kind: string): string {
  return `select j.tx as id,
     j.kind,
     j.amount,
     j.balance_after - j.amount as balance_before,
     j.balance_after,
     coalesce(j.description, u.model) as description,
     case j.kind when 'usage' then j.tx end as generation_id,
     u.client_id,
     p.name as app_name,
     j.at as created_at,
     j.wallet_seq
   from (
     select * from journal
     where bucket = $1::smallint and owner = $2::uuid and wallet_seq < $3::bigint and wallet_seq >= $4::bigint
       and ${of_kind}
     order by wallet_seq desc
     limit $6::integer
   ) j
   left join lateral (
     select model, client_id from usage_event
     where j.kind = 'usage' and bucket = j.bucket and id = j.tx and at = id_time(j.tx)
     limit 1
   ) u on true
   left join app p on p.client_id = u.client_id
   order by j.wallet_seq desc`
}

/** Of every kind, or walked through for one. */
export const SELECT_STATEMENT = statement<StatementRow>(
  'wallet.select_statement',
  selectLines('($5::journal_kind is null or kind = $5::journal_kind)'),
)

// The index of kinds has no calls, and PostgreSQL takes it only where it reads that none are asked for.
export const SELECT_STATEMENT_OF_KIND = statement<StatementRow>(
  'wallet.select_statement_of_kind',
  selectLines(`kind = $5::journal_kind and kind <> 'usage'`),
)

/** The places in the chain of the first line at or after each time. */
export const SELECT_STATEMENT_PLACES = statement<{ from_place: bigint; to_place: bigint }>(
  'wallet.select_statement_places',
  `select statement_place($1::smallint, $2::uuid, $3::timestamptz) as from_place,
     statement_place($1::smallint, $2::uuid, $4::timestamptz) as to_place`,
)
