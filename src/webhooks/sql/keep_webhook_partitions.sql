-- Makes the weekly partitions of deliveries and attempts from p_keep_from to three weeks ahead, and drops those that
-- ended before. Answers the names. Gives up soon where a long reader is in the way, as make_ledger_partitions does.
create or replace function keep_webhook_partitions(p_now timestamptz, p_keep_from timestamptz)
returns table (partition_name text, dropped boolean)
language plpgsql set lock_timeout = '250ms' as $$
declare
  parent text; week timestamp; child text;
begin
  perform pg_advisory_xact_lock(7233004);
  foreach parent in array array['webhook_delivery', 'webhook_attempt'] loop
    for week in
      select s from generate_series(date_trunc('week', p_keep_from at time zone 'UTC'),
        date_trunc('week', p_now at time zone 'UTC' + interval '3 weeks'), interval '1 week') s
    loop
      child := parent || to_char(week, '"_y"IYYY"w"IW');
      continue when to_regclass(child) is not null;
      execute format('create table %I partition of %I for values from (%L) to (%L)', child, parent,
        week at time zone 'UTC', (week + interval '1 week') at time zone 'UTC');
      partition_name := child; dropped := false;
      return next;
    end loop;
    for child in
      select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = parent::regclass
        and to_date(right(c.relname, 7), 'IYYY"w"IW') + interval '7 days' <= p_keep_from at time zone 'UTC'
    loop
      execute format('drop table %I', child);
      partition_name := child; dropped := true;
      return next;
    end loop;
  end loop;
end $$;
