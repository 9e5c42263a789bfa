with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, "user" text, id text)
)
select n, t.token_id as id, t.owner, t.user_id as "userId", t.expiration_date as "expirationDate",
  t.name, t.permissions, t.maker_id as "makerId", coalesce(t.creator_id, (
    select e.actor from events e where e.owner = t.owner and e.stream = t.token_id and e.version = 1)) as "creatorId", t.version, t.created, t.changed from asked join access_tokens t
               on t.owner = asked.owner and t.token_id = asked.id and t.user_id = asked."user";

-- appends: facts/access_token.revoked.sql
