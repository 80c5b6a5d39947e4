-- From now on the month's partitions refuse every row, and every change of those they have. Triggers of their own: other
-- months pay nothing for them. May be repeated: a process may end between closing a month and sealing it.
create or replace function close_ledger_month(p_month date) returns void
language plpgsql as $$
declare
  parent text; child text;
begin
  foreach parent in array array['journal', 'usage_event'] loop
    child := parent || to_char(p_month, '"_y"YYYY"m"MM');
    execute format('create or replace trigger month_is_sealed before insert or update or delete on %I
      for each row execute function sealed_month_is_closed()', child);
    execute format('create or replace trigger month_is_never_truncated before truncate on %I
      for each statement execute function sealed_month_is_closed()', child);
  end loop;
end $$;
