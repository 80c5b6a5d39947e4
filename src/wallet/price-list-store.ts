// The SQL of price lists: they are found by the digest of what they say.

import { statement } from '../platform/db.ts'

export const SELECT_PRICE_LIST = statement<{ id: number }>(
  'wallet.select_price_list',
  `select id
   from price_list
   where digest = $1::bytea`,
)

export const INSERT_PRICE_LIST = statement<{ id: number }>(
  'wallet.insert_price_list',
  `insert into price_list (digest, prices, first_used_at)
   values ($1::bytea, $2::jsonb, $3::timestamptz)
   on conflict (digest) do nothing
   returning id`,
)
