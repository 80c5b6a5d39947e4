-- Makes the daily partitions of response items from p_today to two days ahead, and drops those before p_keep_from.
-- Answers the names. Gives up soon where a long reader is in the way, as make_ledger_partitions does.
create or replace function keep_response_item_partitions(p_today date, p_keep_from date)
returns table (partition_name text, dropped boolean)
language plpgsql set lock_timeout = '250ms' as $$
declare
  at_day date; child text;
begin
  perform pg_advisory_xact_lock(7233007);
  for at_day in select p_today + i from generate_series(0, 2) i loop
    child := to_char(at_day, '"response_item_y"YYYY"m"MM"d"DD');
    continue when to_regclass(child) is not null;
    execute format('create table %I partition of response_item for values from (%L) to (%L)', child,
      at_day, at_day + 1);
    partition_name := child; dropped := false;
    return next;
  end loop;
  for child in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'response_item'::regclass
      and to_date(right(c.relname, 10), 'YYYY"m"MM"d"DD') < p_keep_from
  loop
    execute format('drop table %I', child);
    partition_name := child; dropped := true;
    return next;
  end loop;
end $$;
