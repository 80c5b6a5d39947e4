-- The time of a posting. Tests put another function in its place to travel.
create or replace function ledger_now() returns timestamptz
language sql volatile as $$
  select clock_timestamp()
$$;
