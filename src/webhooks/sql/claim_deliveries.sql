-- Claims deliveries that are due, of p_webhooks webhooks whose ids follow p_after: as many of each as p_rooms says for
-- those in p_known, and p_first of any other. Each has then a lease: if whoever claimed it dies, it is due again when the
-- lease ends. It goes from webhook to webhook in the index, so a long queue of one costs the others nothing.
create or replace function claim_deliveries(
  p_after uuid, p_known uuid[], p_rooms integer[], p_first integer, p_webhooks integer, p_lease interval
) returns setof webhook_delivery
language plpgsql set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_material = off as $$
declare
  place uuid := p_after; now_at timestamptz := ledger_now(); served integer := 0; room integer;
  first_due timestamptz;
begin
  while served < p_webhooks loop
    select d.webhook_id, d.due_at into place, first_due from webhook_delivery d
    where d.due_at is not null and d.webhook_id > place
    order by d.webhook_id, d.due_at limit 1;
    exit when not found;
    -- Most of those that are looked at wait for a retry.
    continue when first_due > now_at;
    room := coalesce(p_rooms[array_position(p_known, place)], p_first);
    continue when room < 1;
    -- A terminal that listens takes its own.
    continue when exists (select 1 from webhook w where w.id = place and w.listens_until > now_at);
    return query
    with due as materialized (
      select d.webhook_id, d.id, d.created_at from webhook_delivery d
      where d.webhook_id = place and d.due_at <= now_at
      order by d.due_at
      limit room
      for update skip locked
    )
    update webhook_delivery d set due_at = now_at + p_lease
    from due
    where d.webhook_id = due.webhook_id and d.id = due.id and d.created_at = due.created_at
    returning d.*;
    if found then
      served := served + 1;
    end if;
  end loop;
end $$;
