-- The second half of settle_batch: journal, usage, earning and outbox rows of what was charged. The time of the call is
-- in its id, the time of the posting in its outcome.
-- Credits that nobody paid for must not become cash. They pay the cost first. What they pay of the markup is earned and
-- never paid out, unless p_promotional_is_money; this is the one place that decides it.
create or replace function record_usage(
  p_settles settle_item[], p_outcomes settle_outcome[], p_usage json, p_promotional_is_money boolean
) returns void language plpgsql as $$
begin
  if not exists (select 1 from unnest(p_outcomes) o where o.state in ('settled', 'late')) then
    return;
  end if;
  with usage as (
    select o.*, id_time(o.id) as at, greatest(0, o.charged - o.cost) as markup,
      case when p_promotional_is_money then 0 else greatest(0, o.promotional - o.cost) end as not_payable
    from rows from (
      unnest(p_settles), unnest(p_outcomes), json_populate_recordset(null::usage_description, p_usage)
    ) as o (bucket, id, wallet_id, used, cost, state, charged, short, balance_before, balance_after, seq, posted_at,
      released, promotional, promotional_after, developer_id, key_id, billing_mode, model, client_id, external_user_id, input_tokens,
      cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, estimated, price_list_id,
      request_id, provider_request_id, first_byte_ms, total_ms, endpoint, outcome, raw_usage, details, stream,
      error_code, event)
    where o.state in ('settled', 'late')
  ), lines as (
    -- Numbered without a gap, whichever of them there are.
    insert into journal (bucket, tx, line, at, account, owner, amount, wallet_seq, balance_after,
      promotional_after, kind)
    select u.bucket, u.id, l.line, u.posted_at, l.account::journal_account, l.owner, l.amount, l.seq,
      l.balance_after, l.promotional_after, 'usage'
    from usage u
    cross join lateral (select (u.charged > 0)::integer as w, (u.cost > 0)::integer as r,
      (u.markup > u.not_payable)::integer as d) has
    cross join lateral (values
      (1::smallint, 'wallet', u.wallet_id, -u.charged, u.seq, u.balance_after, u.promotional_after),
      ((1 + w)::smallint, 'revenue', null, u.cost, null, null, null),
      ((1 + w + r)::smallint, 'dev_payable', u.developer_id, u.markup - u.not_payable, null, null, null),
      -- Of the last two there is one at most: what is written off earns nothing.
      ((1 + w + r + d)::smallint, 'dev_promotional', u.developer_id, u.not_payable, null, null, null),
      ((1 + w + r + d)::smallint, 'write_off', null, least(0, u.charged - u.cost), null, null, null)
    ) as l (line, account, owner, amount, seq, balance_after, promotional_after)
    where l.amount <> 0
  ), events as (
    insert into usage_event (bucket, id, at, wallet_id, developer_id, key_id, billing_mode, model,
      client_id, external_user_id, credits_used, cost_credits, markup_credits, shortfall_credits,
      promotional_credits, balance_before, balance_after, input_tokens, cached_input_tokens, cache_write_tokens,
      output_tokens, reasoning_tokens, estimated, state, price_list_id, request_id, provider_request_id,
      first_byte_ms, total_ms, endpoint, outcome, raw_usage, details, stream, error_code)
    select u.bucket, u.id, u.at, u.wallet_id, u.developer_id, u.key_id, u.billing_mode, u.model,
      u.client_id, u.external_user_id, u.charged, u.cost, u.markup, u.short,
      u.promotional, u.balance_before, u.balance_after, u.input_tokens, u.cached_input_tokens, u.cache_write_tokens,
      u.output_tokens, u.reasoning_tokens, u.estimated, u.state::usage_state, u.price_list_id, u.request_id,
      u.provider_request_id, u.first_byte_ms, u.total_ms, u.endpoint, u.outcome, u.raw_usage, u.details,
      coalesce(u.stream, false), u.error_code
    from usage u
  ), earned as (
    -- A call that used up the last promotional credits may earn both kinds. It is counted once.
    select u.bucket, u.id, u.developer_id, e.amount, u.at, u.client_id, e.payable, e.calls
    from usage u
    cross join lateral (values
      (u.markup - u.not_payable, true, 1),
      (u.not_payable, false, (u.markup = u.not_payable)::integer)
    ) as e (amount, payable, calls)
    where e.amount > 0
  ), earnings as (
    insert into developer_earning (bucket, id, developer_id, amount, usage_at, payable)
    select e.bucket, e.id, e.developer_id, e.amount, e.at, e.payable
    from earned e
  ), sums as (
    -- Added up here and folded into the sums later: the sums of a developer are no row that all their users wait for.
    insert into earning_delta (developer_id, hour, client_id, earned, not_payable, unclaimed, calls)
    select e.developer_id, date_trunc('hour', e.at, 'UTC'), coalesce(e.client_id, ''), sum(e.amount),
      coalesce(sum(e.amount) filter (where not e.payable), 0), coalesce(sum(e.amount) filter (where e.payable), 0),
      sum(e.calls)
    from earned e
    group by 1, 2, 3
  )
  insert into outbox (bucket, wallet_id, source_id, kind, payload, balance_before, balance_after, at)
  -- Of a call that cost nothing there is nothing to tell, but it is counted.
  select u.bucket, u.wallet_id, u.id,
    case when u.charged > 0 then 'usage.completed' else 'usage.free' end::event_kind, nullif(u.event, '{}'),
    u.balance_before, u.balance_after, u.posted_at
  from usage u
  where u.event is not null;
end $$;
