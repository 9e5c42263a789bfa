with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

select t.token_id as id, t.owner, t.user_id as "userId", t.expiration_date as "expirationDate",
t.name, t.permissions, t.maker_id as "makerId", coalesce(t.creator_id, (
  select e.actor from events e where e.owner = t.owner and e.stream = t.token_id and e.version = 1)) as "creatorId", t.version, t.created, t.changed, b.last_used as "lastUsed", b.last_used_origin as "lastUsedOrigin"
from access_tokens t left join bearers b on b.token_id = t.token_id
where t.user_id = $1 and true
order by t.token_id desc limit $2;

select t.token_id as id, t.owner, t.user_id as "userId", t.expiration_date as "expirationDate",
t.name, t.permissions, t.maker_id as "makerId", coalesce(t.creator_id, (
  select e.actor from events e where e.owner = t.owner and e.stream = t.token_id and e.version = 1)) as "creatorId", t.version, t.created, t.changed, b.last_used as "lastUsed", b.last_used_origin as "lastUsedOrigin"
from access_tokens t left join bearers b on b.token_id = t.token_id
where t.user_id = $1 and t.token_id < $2
order by t.token_id desc limit $3;
