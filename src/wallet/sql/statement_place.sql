-- The place in a wallet's chain of its first line at p_at or later; behind its last line, the next place. The times of a
-- chain never go backwards (settle_batch, post_batch) and its places have no gaps, so the middle of what is left says which
-- half to look in: some twenty lines are read of a million, and no index by time is needed. Only the month of p_at is
-- searched; what lies before or after it is known by its partition.
create or replace function statement_place(p_bucket smallint, p_owner uuid, p_at timestamptz) returns bigint
language plpgsql stable as $$
declare
  month_start timestamptz := date_trunc('month', p_at, 'UTC');
  month_end timestamptz := date_add(month_start, interval '1 month', 'UTC');
  low bigint; high bigint; middle bigint; middle_at timestamptz;
begin
  select min(wallet_seq), max(wallet_seq) + 1 into low, high
  from journal
  where bucket = p_bucket and owner = p_owner and wallet_seq is not null and at >= month_start and at < month_end;
  if low is null then
    select min(wallet_seq) into low
    from journal
    where bucket = p_bucket and owner = p_owner and wallet_seq is not null and at >= p_at;
    if low is null then
      select coalesce(max(wallet_seq), 0) + 1 into low
      from journal
      where bucket = p_bucket and owner = p_owner and wallet_seq is not null;
    end if;
    return low;
  end if;
  while low < high loop
    middle := (low + high) / 2;
    select at into strict middle_at
    from journal
    where bucket = p_bucket and owner = p_owner and wallet_seq = middle and at >= month_start and at < month_end;
    if middle_at < p_at then
      low := middle + 1;
    else
      high := middle;
    end if;
  end loop;
  return low;
end $$;
