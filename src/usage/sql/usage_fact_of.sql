-- A settled call as it is counted.
create or replace function usage_fact_of(u usage_event) returns usage_fact
language sql immutable parallel safe as $$
  select row(u.at, u.wallet_id, u.developer_id, u.key_id, u.client_id, u.external_user_id, u.billing_mode, u.model,
    usage_status_of(u.outcome), u.error_code, u.credits_used, u.cost_credits, u.markup_credits, u.input_tokens::bigint,
    u.cached_input_tokens::bigint, u.cache_write_tokens::bigint, u.output_tokens::bigint, 1::bigint)::usage_fact
$$;
