-- SHA-256 of what a payout took: the ids of its earnings, sorted and joined by commas; then, if it took reserves, a
-- semicolon and theirs; then, for another attempt at the same set, "#" and its number.
-- Sorted as ids they are sorted as text too: digits before letters, all in lower case.
create or replace function payout_set_hash(p_payout_id uuid, p_attempt integer, p_buckets smallint[]) returns text
language plpgsql stable as $$
begin
  return encode(sha256(convert_to(
    (select string_agg(e.id::text, ',' order by e.id)
      from developer_earning e where e.bucket = any (p_buckets) and e.payout_id = p_payout_id)
    || coalesce(';' || (
      select string_agg(r.payout_id::text, ',' order by r.payout_id)
      from payout_reserve r where r.rolled_into = p_payout_id), '')
    || case when p_attempt = 0 then '' else '#' || p_attempt end, 'UTF8')), 'hex');
end $$;
