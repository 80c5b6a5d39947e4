-- What operators did, for whoever asks later: written with the act, never changed, and kept when its account is gone.

create table operator_act (
  id uuid primary key,
  at timestamptz not null,
  -- Who: the name given with --by, that of the system's user, or the operator's address.
  who text not null,
  act text not null,
  -- Whom or what: an address, a client id, the id of a key.
  subject text not null,
  reason text,
  details jsonb not null default '{}',
  -- From where: null where it was done on the command line.
  operator_id uuid,
  session_id uuid,
  ip text,
  constraint operator_act_has_words check (who <> '' and act <> '' and subject <> '')
);
create index operator_act_by_who on operator_act (who, id desc);
create index operator_act_by_act on operator_act (act, id desc);
create index operator_act_by_subject on operator_act (subject, id desc);

create function operator_acts_are_kept() returns trigger language plpgsql as $$
begin
  raise exception 'the acts of operators are append-only' using errcode = 'restrict_violation';
end $$;
create trigger operator_act_is_kept before update or delete on operator_act
for each row execute function operator_acts_are_kept();
create trigger operator_act_is_never_truncated before truncate on operator_act
for each statement execute function operator_acts_are_kept();
