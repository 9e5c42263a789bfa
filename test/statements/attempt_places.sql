with wants as materialized (
  select user_id, owner, wanted from jsonb_to_recordset($1::text::jsonb) as w (user_id text, owner text, wanted integer)
),
users as (
  insert into attempt_places as p (minute, key, asked)
  select $2, 'user/' || user_id, wanted from wants order by user_id
  on conflict (minute, key) do update set asked = p.asked + excluded.asked returning key, asked
),
of_users as materialized (
  select u.key, w.owner, u.asked, greatest(0, least(w.wanted, $3 - (u.asked - w.wanted))) as granted
  from wants w join users u on u.key = 'user/' || w.user_id
),
owners as (
  insert into attempt_places as p (minute, key, asked)
  select $4, 'owner/' || owner, sum(granted) from of_users group by owner order by owner
  on conflict (minute, key) do update set asked = p.asked + excluded.asked returning key, asked
),
of_owners as materialized (
  select o.key, o.asked, greatest(0, least(w.granted, $5 - (o.asked - w.granted))) as granted
  from (select owner, sum(granted)::integer as granted from of_users group by owner) w
  join owners o on o.key = 'owner/' || w.owner
),
instance as (
  insert into attempt_places as p (minute, key, asked)
  select $6, $7, sum(granted) from of_owners
  on conflict (minute, key) do update set asked = p.asked + excluded.asked returning key, asked
)
select key, asked, granted from of_users
union all select key, asked, granted from of_owners
union all
select i.key, i.asked, greatest(0, least(w.granted, $8 - (i.asked - w.granted)))
from instance i, (select sum(granted)::integer as granted from of_owners) w;
