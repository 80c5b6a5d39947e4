-- Locks wallets in order: whoever changes a wallet, its holds or its chain comes through here first. A statement of its
-- own, so that the next one sees what this one waited for.
create or replace function lock_wallets(p_buckets smallint[], p_wallet_ids uuid[]) returns void
language plpgsql as $$
begin
  perform 1 from wallet w
  where (w.bucket, w.id) in (
    select u.bucket, u.wallet_id from unnest(p_buckets, p_wallet_ids) as u (bucket, wallet_id))
  order by w.bucket, w.id
  for no key update;
end $$;
