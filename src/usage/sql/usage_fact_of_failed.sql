-- A call that cost nothing, as it is counted. Names that no model has are counted together: anybody can invent them.
create or replace function usage_fact_of_failed(f failed_call) returns usage_fact
language sql immutable parallel safe as $$
  select row(f.at, f.wallet_id, f.developer_id, f.key_id, f.client_id, f.external_user_id, f.billing_mode,
    case when f.error_code = 'model_not_found' then '(unknown)' else f.model end, usage_status_of(f.outcome),
    f.error_code, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 1::bigint)::usage_fact
$$;
