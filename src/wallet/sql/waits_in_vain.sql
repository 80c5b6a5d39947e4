-- Whether all that is in the way of a hold that is to grow, in its wallet or under one of its spend limits, is held by calls
-- that stand still as well and have no room to go on either. Then nobody is left to give any back. Holds of other wallets
-- under the same limit count as calls that go on. To be called with the wallet locked (hold_batch).
create or replace function waits_in_vain(p_hold hold_item, p_limits limit_item[]) returns boolean
language plpgsql as $$
declare
  lacks bigint; wallet_room bigint; wallet_held bigint; l limit_item; room bigint; held bigint;
begin
  select p_hold.min_credits - h.amount, w.posted - w.held, w.held into lacks, wallet_room, wallet_held
  from wallet w
  join hold h on h.bucket = w.bucket and h.id = p_hold.id
  where w.bucket = p_hold.bucket and w.id = p_hold.wallet_id;
  if lacks > wallet_room and wallet_held = (
    select sum(h.amount) from hold h
    where h.bucket = p_hold.bucket and h.wallet_id = p_hold.wallet_id and h.wanted - h.amount > wallet_room)
  then
    return true;
  end if;

  foreach l in array p_limits loop
    select l.limit_credits - s.spent - s.held, s.held into room, held
    from spend_counter s
    where s.bucket = l.bucket and s.owner_id = l.owner_id and s.period = l.period;
    if lacks > room and held = (
      select sum(h.amount) from hold h
      where h.bucket = p_hold.bucket and h.wallet_id = p_hold.wallet_id
        and h.wanted - h.amount > least(room, wallet_room)
        and exists (
          select 1 from unnest(h.spend_owner_ids, h.spend_periods) as c (owner_id, period)
          where c.owner_id = l.owner_id and c.period = l.period))
    then
      return true;
    end if;
  end loop;
  return false;
end $$;
