with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, user_id text, user_keys text[], of_user boolean, organization_id text, organization_keys text[],
    of_organization boolean)
)
select n, coalesce((select json_agg(json_build_array(m.key, m.value)) from user_metadata m
      where m.user_id = asked.user_id and m.key = any(asked.user_keys) and (m.shared or asked.of_user)), '[]') as "user",
    coalesce((select json_agg(json_build_array(m.key, m.value)) from organization_metadata m
      where m.organization_id = asked.organization_id and m.key = any(asked.organization_keys) and (m.shared or asked.of_organization)), '[]') as "organization"
    from asked;
