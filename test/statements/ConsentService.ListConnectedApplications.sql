with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

select a.app_id as "appId", a.name, a.owner as "organizationId", h.name as "organizationName",
  c.scopes, c.changed as "consentDate", s.last as "lastSignInDate",
  s.offline is not null as "isOffline", s.offline as "offlineSinceDate"
from (
  select app_id from consents where user_id = $1
  union
  select app_id from sign_ons where user_id = $2 and expiration_date > $3
) k
join applications a on a.app_id = k.app_id
join organizations h on h.organization_id = a.owner
left join consents c on c.user_id = $4 and c.app_id = k.app_id
cross join lateral (
  select max(o.created) as last, min(o.created) filter (where exists (
    select from refresh_tokens r
    where r.sign_on_id = o.sign_on_id and r.replaced is null and r.expiration_date > $5)) as offline
  from sign_ons o where o.user_id = $6 and o.app_id = k.app_id and o.expiration_date > $7
) s
where a.app_id > $8
order by a.app_id limit $9;
