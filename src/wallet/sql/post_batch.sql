-- Posts movements other than usage: each item of p_postings (posting_item) moves its amount into the wallet (out of it
-- if negative) against a counter account. Answers one row for each item: posted, repeated (the same id was posted
-- before), no_wallet, insufficient, overflow or too_old. Nothing is written for the last four. `movable` is what the item
-- could have taken out at most, and `promotional` what nobody paid for, before it.
-- What goes out takes credits that were paid for first, so the promotional ones are the last to go. That holds whatever
-- the settings say: a chain can be proved without knowing what they were. Items with leaves_promotional take none.
-- All items have one time of posting, so both sides of a transfer are in one month.
-- An id from a month that is sealed, or from the day after it, is too old: what it posted may be in an archive, where
-- nobody looks for a repeat. (A month is sealed two days after its end at the earliest. The day is for ids that were
-- minted by a clock ahead of this one.)
create or replace function post_batch(p_postings json)
returns table (
  item integer, state text, balance_before bigint, balance_after bigint, movable bigint, promotional bigint
)
language plpgsql set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  r record;
  postings posting_item[] := array(select p from json_populate_recordset(null::posting_item, p_postings) p);
  w_bucket smallint; w_id uuid; w_posted bigint; w_held bigint; w_seq bigint;
  w_promotional bigint; v_movable bigint; o_promotional_after bigint[];
  o_movable bigint[]; o_promotional bigint[]; u_promotional bigint[];
  o_items integer[]; o_states text[]; o_before bigint[]; o_after bigint[]; o_seqs bigint[];
  u_buckets smallint[]; u_ids uuid[]; u_posted bigint[]; u_seqs bigint[];
  posted_at timestamptz; oldest_id_at timestamptz;
begin
  perform lock_wallets(array_agg(p.bucket), array_agg(p.wallet_id)) from unnest(postings) p;
  select greatest(ledger_now(), max(w.last_posted_at)) into posted_at
  from wallet w
  where (w.bucket, w.id) in (select p.bucket, p.wallet_id from unnest(postings) p);
  select max(s.month + interval '1 month 1 day') at time zone 'UTC' into oldest_id_at
  from ledger_seal s;

  for r in
    select u.ordinality::integer as item, u.bucket, u.wallet_id, u.tx, u.amount, u.kind,
      u.promotional as promotional_in, u.leaves_promotional,
      w.posted, w.held, w.promotional, w.seq, j.balance_after as j_after, j.amount as j_amount, j.kind as j_kind
    from unnest(postings) with ordinality u
    left join wallet w on w.bucket = u.bucket and w.id = u.wallet_id
    left join journal j on j.bucket = u.bucket and j.tx = u.tx and j.line = 1
    order by u.bucket, u.wallet_id, u.ordinality
  loop
    if w_id is distinct from r.wallet_id then
      if w_id is not null then
        u_buckets := u_buckets || w_bucket; u_ids := u_ids || w_id;
        u_posted := u_posted || w_posted; u_seqs := u_seqs || w_seq; u_promotional := u_promotional || w_promotional;
      end if;
      w_bucket := r.bucket; w_id := r.wallet_id;
      w_posted := r.posted; w_held := r.held; w_promotional := r.promotional; w_seq := r.seq;
    end if;
    v_movable := least(w_posted - w_held, case when r.leaves_promotional then w_posted - w_promotional end);
    o_items := o_items || r.item; o_movable := o_movable || v_movable; o_promotional := o_promotional || w_promotional;
    if w_posted is null then
      o_states := o_states || 'no_wallet'::text;
    elsif r.j_after is not null then
      if r.j_amount <> r.amount or r.j_kind <> r.kind then
        raise exception 'journal transaction % exists with another amount or kind', r.tx
        using errcode = 'unique_violation', constraint = 'journal_tx';
      end if;
      o_states := o_states || 'repeated'::text;
      o_before := o_before || r.j_after - r.j_amount; o_after := o_after || r.j_after;
      o_seqs := o_seqs || null::bigint; o_promotional_after := o_promotional_after || null::bigint;
      continue;
    elsif id_time(r.tx) < oldest_id_at then
      o_states := o_states || 'too_old'::text;
    elsif r.amount < 0 and v_movable + r.amount < 0 then
      o_states := o_states || 'insufficient'::text;
    elsif w_posted + r.amount > 9007199254740991 then
      o_states := o_states || 'overflow'::text;
    else
      o_states := o_states || 'posted'::text;
      o_before := o_before || w_posted; o_after := o_after || w_posted + r.amount;
      w_posted := w_posted + r.amount; w_seq := w_seq + 1;
      w_promotional := case when r.amount > 0 then w_promotional + coalesce(r.promotional_in, 0)
        else least(w_promotional, w_posted) end;
      o_seqs := o_seqs || w_seq; o_promotional_after := o_promotional_after || w_promotional;
      continue;
    end if;
    o_before := o_before || w_posted; o_after := o_after || w_posted; o_seqs := o_seqs || null::bigint;
    o_promotional_after := o_promotional_after || null::bigint;
  end loop;
  if w_id is not null then
    u_buckets := u_buckets || w_bucket; u_ids := u_ids || w_id;
    u_posted := u_posted || w_posted; u_seqs := u_seqs || w_seq; u_promotional := u_promotional || w_promotional;
  end if;

  update wallet w set posted = u.posted, promotional = u.promotional, seq = u.seq, last_posted_at = posted_at
  from unnest(u_buckets, u_ids, u_posted, u_promotional, u_seqs) as u (bucket, id, posted, promotional, seq)
  where w.bucket = u.bucket and w.id = u.id and w.seq <> u.seq;

  -- The outbox first, as a settlement does: lock_ledger_tables.
  insert into outbox (bucket, wallet_id, source_id, kind, payload, balance_before, balance_after, at)
  select p.bucket, p.wallet_id, p.tx, 'balance.updated', p.event, o.balance_before, o.balance_after, posted_at
  from unnest(o_items, o_states, o_before, o_after) as o (item, state, balance_before, balance_after)
  join unnest(postings) with ordinality p on p.ordinality = o.item
  where o.state = 'posted' and p.event is not null;

  insert into journal
    (bucket, tx, line, at, account, owner, amount, wallet_seq, balance_after, promotional_after, kind, description)
  select p.bucket, p.tx, l.line, posted_at, l.account, l.owner, l.amount, l.wallet_seq, l.balance_after,
    l.promotional_after, p.kind, l.description
  from unnest(o_items, o_states, o_after, o_promotional_after, o_seqs)
    as o (item, state, balance_after, promotional_after, seq)
  join unnest(postings) with ordinality p on p.ordinality = o.item
  cross join lateral (values
    (1::smallint, 'wallet'::journal_account, p.wallet_id, p.amount, o.seq, o.balance_after, o.promotional_after,
      p.description),
    (2::smallint, p.counter_account, p.counter_owner, -p.amount, null, null, null, null)
  ) as l (line, account, owner, amount, wallet_seq, balance_after, promotional_after, description)
  where o.state = 'posted';

  return query select * from unnest(o_items, o_states, o_before, o_after, o_movable, o_promotional);
end $$;
