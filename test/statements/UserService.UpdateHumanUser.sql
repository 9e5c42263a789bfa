with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n, u.user_id as id, u.owner, u.kind, u.given_name as "givenName", u.family_name as "familyName", u.name, u.address, u.language,
               u.version, u.created, u.changed
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

-- appends: facts/user.human_changed.sql
