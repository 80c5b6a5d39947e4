-- What a call adds to the sums of each of those who may see it, as rows of usage_hour: its payer, and its developer where
-- that is somebody else. A user who pays does not see whose keys of the developer were used. And what it adds to those of the
-- service.
create or replace function usage_shares(p_facts usage_fact[]) returns setof usage_hour
language sql immutable parallel safe as $$
  select date_trunc(case when g.grain < 4 then 'hour' else 'day' end, f.at, 'UTC'), f.credits,
    case when o.pays then f.credits else 0 end, f.cost_credits, f.markup_credits, f.requests,
    case when f.status = 'failed' then f.requests else 0 end, f.input_tokens, f.cached_input_tokens,
    f.cache_write_tokens, f.output_tokens, f.status, f.billing_mode, g.grain, o.owner_id,
    case when g.grain % 4 > 0 and f.developer_id = o.owner_id then f.key_id end, f.model, f.client_id,
    case when g.grain % 4 = 3 then f.external_user_id end, f.error_code
  from unnest(p_facts) f
  cross join lateral (values (f.wallet_id, true), (nullif(f.developer_id, f.wallet_id), false)) as o (owner_id, pays)
  cross join (
    values (0::smallint), (1::smallint), (2::smallint), (3::smallint), (4::smallint), (5::smallint), (6::smallint),
      (7::smallint)
  ) as g (grain)
  where o.owner_id is not null and (g.grain % 4 = 0 or (g.grain % 4 = 1) = (f.external_user_id is null))
  union all
  select date_trunc('hour', f.at, 'UTC'), f.credits, 0, f.cost_credits, f.markup_credits, f.requests,
    case when f.status = 'failed' then f.requests else 0 end, f.input_tokens, f.cached_input_tokens,
    f.cache_write_tokens, f.output_tokens, f.status, f.billing_mode, 8::smallint,
    '00000000-0000-0000-0000-000000000000', null, f.model, null, null, f.error_code
  from unnest(p_facts) f
$$;
