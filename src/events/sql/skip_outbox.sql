-- Moves the cursor of a reader past everything that p_seen sees: nobody wants to know.
create or replace function skip_outbox(p_reader text, p_seen pg_snapshot) returns void language plpgsql as $$
declare
  read_by text;
begin
  select reader into read_by from event_cursor where reader = p_reader for update skip locked;
  update event_cursor
  set done = p_seen, done_at = ledger_now(), target = null, target_at = null, after_xid = '0',
    after_id = 0
  where reader = read_by;
end $$;
