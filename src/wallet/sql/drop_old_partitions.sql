-- Drops the partitions that ended before p_before; answers their names. Each says in its name when it begins: p_begin is
-- the form of its last seven letters, p_span how long it lasts. Gives up soon where a long reader is in the way, as
-- make_ledger_partitions does.
create or replace function drop_old_partitions(
  p_parent regclass, p_begin text, p_span interval, p_before timestamptz
) returns setof text
language plpgsql set lock_timeout = '250ms' as $$
declare
  child text;
begin
  perform pg_advisory_xact_lock(7233003);
  for child in
    select c.relname
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where i.inhparent = p_parent and c.relname ~ '_y[0-9]{4}[mw][0-9]{2}$'
      and to_date(right(c.relname, 7), p_begin) + p_span <= p_before at time zone 'UTC'
  loop
    execute format('drop table %I', child);
    return next child;
  end loop;
end $$;
