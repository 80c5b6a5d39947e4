-- Which users belong to which developer: through an app they granted, or by the id the developer knows them by.
-- The OAuth server writes it; funding and "who pays" read it.

create table account_link (
  id uuid primary key,
  developer_id uuid not null references account (id) on delete cascade,
  account_id uuid not null references account (id) on delete cascade,
  client_id text not null,
  -- The developer's own name for the user, when the server keeps the grant; null for a plain grant.
  external_user_id text,
  created_at timestamptz not null,
  -- Set when the user or the developer ends it. Ended links are kept: records refer to them.
  ended_at timestamptz
);
create unique index account_link_is_unique on account_link (client_id, external_user_id)
where ended_at is null and external_user_id is not null;
create index account_link_by_external_id on account_link (developer_id, external_user_id, created_at desc)
where ended_at is null;
create index account_link_by_account on account_link (developer_id, account_id)
where ended_at is null;
