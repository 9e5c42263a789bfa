with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

with recursive used (app_id) as (
  select $1::text
  union all
  select n.app_id from used k cross join lateral (select least(
    (select o.app_id from sign_ons o
    where (o.user_id, o.app_id) > ($2, k.app_id) and o.user_id <= $3 and o.expiration_date > $4
    order by o.user_id, o.app_id limit 1),
    (select m.app_id from acting_machines m
    where (m.user_id, m.app_id) > ($5, k.app_id) and m.user_id <= $6 and m.expiration_date > $7
    order by m.user_id, m.app_id limit 1)) as app_id) n
  where n.app_id is not null
),
page (app_id) as materialized (
  select app_id from (
    select app_id from (
      select c.app_id from consents c
      where c.user_id = $8 and c.app_id > $9
        and exists (select from applications a where a.app_id = c.app_id offset 0)
      order by c.app_id limit $10) c
    union
    select app_id from used k
    where k.app_id > $11 and exists (select from applications a where a.app_id = k.app_id offset 0)
  ) k order by app_id limit $12
)
select k.app_id as "appId", a.name, a.owner as "organizationId", a.organization_name as "organizationName",
  c.scopes, c.changed as "consentDate", s.last as "lastSignInDate",
  f.first is not null as "isOffline", f.first as "offlineSinceDate", acting.machines as "actingMachines"
from page k
cross join lateral (
  select a.name, a.owner, h.name as organization_name
  from applications a join organizations h on h.organization_id = a.owner where a.app_id = k.app_id offset 0) a
left join lateral (
  select c.scopes, c.changed from consents c where c.user_id = $13 and c.app_id = k.app_id offset 0) c on true
left join lateral (
  select l.created as last from (
    select o.user_id, o.app_id, o.created from sign_ons o
    where (o.user_id, o.app_id) <= ($14, k.app_id) and o.expiration_date > $15
    order by o.user_id desc, o.app_id desc, o.sign_on_id desc limit 1) l
  where l.user_id = $16 and l.app_id = k.app_id) s on true
cross join lateral (
  select min(o.created) as first from (
    select o.sign_on_id, o.created, o.expiration_date from sign_ons o
    where o.user_id = $17 and o.app_id = k.app_id and o.refresh_family is not null offset 0) o
  where o.expiration_date > $18
    and exists (select from refresh_tokens r
      where r.sign_on_id = o.sign_on_id and r.replaced is null and r.expiration_date > $19)
) f
cross join lateral (
  select coalesce(json_agg(json_build_object('userId', u.user_id, 'name', u.name, 'apiId', y.app_id, 'apiName', y.name,
    'firstDate', m.first_used, 'lastDate', m.last_used) order by m.last_used desc, u.user_id, y.app_id), '[]') as machines
  from (
    select * from acting_machines m where m.user_id = $20 and m.app_id = k.app_id and m.expiration_date > $21
    order by m.user_id desc, m.app_id desc, m.last_used desc limit $22
  ) m
  cross join lateral (select u.user_id, u.name from users u where u.user_id = m.machine_id offset 0) u
  cross join lateral (select y.app_id, y.name from applications y where y.app_id = m.api_id offset 0) y
) acting
order by k.app_id;
