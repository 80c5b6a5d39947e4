// /operator/ledger, /operator/wallets, /operator/holds: whether the book is right, and what stands in it.

import { Type } from 'typebox'
import { Credits, Id, Nullable, Page, PageQuery, Timestamp } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import {
  type ChainLine,
  listChain,
  listHolds,
  type OpenHold,
  sumHolds,
} from '../wallet/book-views.ts'
import { readBookState } from '../wallet/check-record.ts'
import { requireAccount } from './accounts.ts'
import { actorOf, LIST, READ, requireUserId, TAGS, Why, write } from './actor.ts'
import { checkBookNow } from './book-check.ts'
import {
  BookDescription,
  HoldSums,
  ProofDescription,
  presentBook,
  presentHolds,
} from './book-schemas.ts'

export type LedgerParts = { db: Db; clock: Clock }

const AGE_MAX_S = 365 * 86_400

const HoldDescription = Type.Object({
  id: Id,
  account_id: Id,
  amount: Credits,
  placed_at: Timestamp,
  expires_at: Timestamp,
  node_id: Type.String({ description: 'The process whose call it is.' }),
})

const Line = Type.Object({
  sequence: Type.Unsafe<bigint>({ type: 'integer', description: 'Its place.', examples: [17] }),
  transaction_id: Id,
  kind: Type.String({ examples: ['usage'] }),
  amount: Type.Unsafe<bigint>({ type: 'integer', examples: [-1204] }),
  balance_before: Credits,
  balance_after: Credits,
  promotional_before: Nullable(
    Type.Integer({ description: 'Null: the line before is in an archive.', examples: [100] }),
  ),
  promotional_after: Credits,
  description: Nullable(Type.String()),
  at: Timestamp,
})

export function ledgerRoutes(app: App, parts: LedgerParts): void {
  app.get(
    '/operator/ledger',
    {
      config: READ,
      schema: {
        tags: TAGS,
        operationId: 'operator_ledger',
        summary: 'See whether the book is right',
        description:
          'The last check of each part of the book, the last 24 seals, and the total of each account of the book as the last check of the whole book has added them up: together they are zero. Nothing is added up for this answer but open holds.',
        response: { 200: BookDescription },
      },
    },
    async () => {
      const now = parts.clock.now()
      return presentBook(await readBookState(parts.db), await sumHolds(parts.db, now))
    },
  )
  app.post(
    '/operator/ledger/checks',
    {
      config: write(),
      schema: {
        tags: TAGS,
        operationId: 'operator_check_ledger',
        summary: 'Check the book now',
        description:
          'What `svc ledger check` does: every proof over what came since the last seal, in one snapshot, without a lock that anybody waits for. 503 where a proof takes longer than a statement may: use the command then.',
        body: Why,
        response: {
          200: Type.Object({
            ok: Type.Boolean(),
            checked_at: Timestamp,
            duration_ms: Type.Integer({ examples: [840] }),
            proofs: Type.Array(ProofDescription),
          }),
        },
      },
    },
    async (request) => {
      const by = await actorOf(parts, request, request.body.reason)
      const { report, checked_at, duration_ms } = await checkBookNow(parts, by)
      const { ok, proofs } = report
      return { ok, checked_at: checked_at.toISOString(), duration_ms, proofs }
    },
  )
  holdRoutes(app, parts)
}

function holdRoutes(app: App, parts: LedgerParts): void {
  app.get(
    '/operator/holds',
    {
      config: LIST,
      schema: {
        tags: TAGS,
        operationId: 'operator_list_holds',
        summary: 'List open holds',
        description: 'Oldest first: what calls that run have reserved.',
        querystring: Type.Object({
          ...PageQuery.properties,
          older_than_seconds: Type.Integer({
            minimum: 0,
            maximum: AGE_MAX_S,
            default: 0,
            description: 'Only such.',
          }),
        }),
        response: { 200: Type.Object({ ...Page(HoldDescription).properties, sums: HoldSums }) },
      },
    },
    async (request) => {
      const { older_than_seconds, cursor, limit } = request.query
      const now = parts.clock.now()
      const placed_until = new Date(now.getTime() - older_than_seconds * 1000)
      const page = await listHolds(parts.db, { placed_until, cursor, limit })
      const sums = presentHolds(await sumHolds(parts.db, now))
      return { ...page, data: page.data.map(presentHold), sums }
    },
  )
  app.get(
    '/operator/wallets/:account_id/chain',
    {
      config: { ...LIST, errors: ['bad_request', 'user_not_found'] },
      schema: {
        tags: TAGS,
        operationId: 'operator_wallet_chain',
        summary: 'Read the chain of a wallet',
        description:
          'Every line of the journal that moved its balance, newest first: each begins where the one before it ended.',
        params: Type.Object({ account_id: Type.String() }),
        querystring: PageQuery,
        response: { 200: Page(Line) },
      },
    },
    async (request) => {
      const { id } = await requireAccount(parts.db, requireUserId(request.params.account_id))
      const { cursor, limit } = request.query
      const page = await listChain(parts.db, id, { cursor, limit })
      return { ...page, data: page.data.map(presentLine) }
    },
  )
}

function presentHold({ placed_at, expires_at, ...hold }: OpenHold) {
  return { ...hold, placed_at: placed_at.toISOString(), expires_at: expires_at.toISOString() }
}

function presentLine({ wallet_seq, promotional_before, at, ...line }: ChainLine) {
  return {
    ...line,
    sequence: wallet_seq,
    promotional_before: promotional_before === null ? null : Number(promotional_before),
    at: at.toISOString(),
  }
}
