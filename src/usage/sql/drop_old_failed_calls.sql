-- Drops the months of failed calls that ended before p_before; answers their names. Gives up soon where a long reader is in
-- the way, as make_ledger_partitions does.
create or replace function drop_old_failed_calls(p_before timestamptz) returns setof text
language plpgsql set lock_timeout = '250ms' as $$
declare
  child text;
begin
  perform pg_advisory_xact_lock(7233003);
  for child in
    select c.relname
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'failed_call'::regclass and c.relname ~ '^failed_call_y[0-9]{4}m[0-9]{2}$'
      and to_date(right(c.relname, 7), 'YYYY"m"MM') + interval '1 month' <= p_before at time zone 'UTC'
  loop
    execute format('drop table %I', child);
    return next child;
  end loop;
end $$;
