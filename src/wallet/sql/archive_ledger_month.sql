-- Takes the rows of a sealed month out of the book, after its files were written and read back. In the place of each
-- partition comes an empty one that refuses rows too: nothing of that month can land in DEFAULT. Locks the tables for a
-- moment, and gives up soon where a long reader is in the way, as make_ledger_partitions does.
create or replace function archive_ledger_month(p_month date, p_drop boolean) returns void
language plpgsql set lock_timeout = '250ms' as $$
declare
  parent text; child text; suffix text;
begin
  perform pg_advisory_xact_lock(7233003);
  perform lock_ledger_tables();
  foreach parent in array array['journal', 'usage_event'] loop
    child := parent || to_char(p_month, '"_y"YYYY"m"MM');
    execute format('alter table %I detach partition %I', parent, child);
    if p_drop then
      execute format('drop table %I', child);
    else
      execute format('alter table %I rename to %I', child, child || '_archived');
      foreach suffix in array array['_tx', '_chain', '_kinds', '_id'] loop
        execute format('alter index if exists %I rename to %I', child || suffix, child || '_archived' || suffix);
      end loop;
    end if;
    perform make_ledger_partition(parent, child, format('for values from (%L) to (%L)',
      p_month::timestamp at time zone 'UTC', (p_month + interval '1 month') at time zone 'UTC'));
  end loop;
  perform close_ledger_month(p_month);
  update ledger_seal set archived_at = ledger_now() where month = p_month;
end $$;
