-- From now on the month's partitions refuse every row. A row trigger of theirs: other months pay nothing for it.
create or replace function close_ledger_month(p_month date) returns void
language plpgsql as $$
declare
  parent text;
begin
  foreach parent in array array['journal', 'usage_event'] loop
    execute format('create trigger month_is_sealed before insert on %I
      for each row execute function sealed_month_is_closed()', parent || to_char(p_month, '"_y"YYYY"m"MM'));
  end loop;
end $$;
