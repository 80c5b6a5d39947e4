-- Writes calls that cost nothing, and adds them to the sums in the same transaction. May be repeated: those that are
-- there already are not counted again. Answers how many were new.
create or replace function record_failed_calls(p_calls json) returns integer
language plpgsql as $$
declare
  facts usage_fact[];
begin
  with made as (
    insert into failed_call (bucket, id, at, wallet_id, developer_id, key_id, request_id, billing_mode, endpoint, stream,
      total_ms, http_status, model, upstream_model, outcome, error_code, client_id, external_user_id)
    select c.bucket, c.id, id_time(c.id), c.wallet_id, c.developer_id, c.key_id, c.request_id, c.billing_mode, c.endpoint,
      c.stream, c.total_ms, c.http_status, c.model, c.upstream_model, c.outcome, c.error_code, c.client_id,
      c.external_user_id
    from json_populate_recordset(null::failed_call, p_calls) c
    on conflict do nothing
    returning failed_call as f
  )
  select coalesce(array_agg(usage_fact_of_failed(made.f)), '{}') into facts from made;
  perform add_usage(facts);
  return cardinality(facts);
end $$;
