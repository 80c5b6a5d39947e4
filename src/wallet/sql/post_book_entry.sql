-- Moves an amount between two accounts of the book that are no wallets, under an id that lives in the bucket it concerns.
-- After the wallet postings of the same transaction, which write to the outbox first: lock_ledger_tables.
create or replace function post_book_entry(
  p_tx uuid, p_kind journal_kind, p_from journal_account, p_from_owner uuid, p_to journal_account, p_to_owner uuid,
  p_amount bigint, p_description text
) returns void
language plpgsql as $$
begin
  insert into journal (bucket, tx, line, at, account, owner, amount, kind, description)
  select wallet_bucket(p_tx), p_tx, l.line, n.now, l.account, l.owner, l.amount, p_kind, p_description
  from ledger_now() as n (now)
  cross join (values
    (1::smallint, p_from, p_from_owner, -p_amount),
    (2::smallint, p_to, p_to_owner, p_amount)
  ) as l (line, account, owner, amount);
end $$;
