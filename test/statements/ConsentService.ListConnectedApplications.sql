with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

with recursive signed_in (app_id) as (
  select $1::text
  union all
  select n.app_id from signed_in k cross join lateral (
    select o.app_id from sign_ons o
    where (o.user_id, o.app_id) > ($2, k.app_id) and o.user_id <= $3 and o.expiration_date > $4
    order by o.user_id, o.app_id limit 1) n
)
select k.app_id as "appId", a.name, a.owner as "organizationId", a.organization_name as "organizationName",
  c.scopes, c.changed as "consentDate", s.last as "lastSignInDate",
  f.first is not null as "isOffline", f.first as "offlineSinceDate"
from (
  select app_id from (select app_id from consents where user_id = $5 offset 0) c
  union
  select app_id from signed_in
) k
cross join lateral (
  select a.name, a.owner, h.name as organization_name
  from applications a join organizations h on h.organization_id = a.owner where a.app_id = k.app_id offset 0) a
left join consents c on c.user_id = $6 and c.app_id = k.app_id
left join lateral (
  select l.created as last from (
    select o.user_id, o.app_id, o.created from sign_ons o
    where (o.user_id, o.app_id) <= ($7, k.app_id) and o.expiration_date > $8
    order by o.user_id desc, o.app_id desc, o.sign_on_id desc limit 1) l
  where l.user_id = $9 and l.app_id = k.app_id) s on true
cross join lateral (
  select min(o.created) as first from sign_ons o
  where o.user_id = $10 and o.app_id = k.app_id and o.refresh_family is not null and o.expiration_date > $11
    and exists (select from refresh_tokens r
      where r.sign_on_id = o.sign_on_id and r.replaced is null and r.expiration_date > $12)
) f
where k.app_id > $13
order by k.app_id limit $14;
