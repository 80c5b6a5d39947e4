create or replace function add_spend(
  p_buckets smallint[], p_owner_ids uuid[], p_periods date[], p_spent bigint[], p_held bigint[]
) returns void
language plpgsql as $$
begin
  update spend_counter s set spent = s.spent + u.spent, held = s.held + u.held
  from (
    select b as bucket, o as owner_id, p as period, sum(x)::bigint as spent, sum(y)::bigint as held
    from unnest(p_buckets, p_owner_ids, p_periods, p_spent, p_held) as u (b, o, p, x, y)
    group by b, o, p
  ) u
  where s.bucket = u.bucket and s.owner_id = u.owner_id and s.period = u.period;
end $$;
