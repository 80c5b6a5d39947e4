-- What models answered over the Responses API, item by item, for clients that refer to an item in place of sending it again.
-- Each item is sealed with a key that comes from its id, and only a digest of the id is here: the database alone opens
-- nothing. A day is a partition, and is dropped when it is old (keep_response_item_partitions).

create table response_item (
  day date not null,
  id_digest bytea not null,
  -- Whose wallet paid for the answer.
  account_id uuid not null,
  sealed bytea not null,
  primary key (day, id_digest)
) partition by range (day);

-- Nothing that is encrypted becomes smaller.
alter table response_item alter column sealed set storage external;
