// The SQL of items that are kept for references.

import { statement } from '../../platform/db.ts'

// The same call made twice has the same items.
export const INSERT_ITEMS = statement<never>(
  'gateway.insert_response_items',
  `insert into response_item (day, id_digest, account_id, sealed)
   select given.day, given.id_digest, $1::uuid, given.sealed
   from unnest($2::date[], $3::bytea[], $4::bytea[]) as given (day, id_digest, sealed)
   on conflict do nothing`,
)

export type ItemRow = { id_digest: Buffer; sealed: Buffer | null }

// More than anybody could send is not even read: then every `sealed` is null.
export const SELECT_ITEMS = statement<ItemRow>(
  'gateway.select_response_items',
  `select id_digest,
     case when sum(octet_length(sealed)) over () <= $4::bigint then sealed end as sealed
   from response_item
   where day = any ($1::date[])
     and id_digest = any ($2::bytea[])
     and account_id = $3::uuid`,
)

export const KEEP_PARTITIONS = statement<{ partition_name: string; dropped: boolean }>(
  'gateway.keep_response_item_partitions',
  `select partition_name, dropped
   from keep_response_item_partitions(p_today => $1::date, p_keep_from => $2::date)`,
)
