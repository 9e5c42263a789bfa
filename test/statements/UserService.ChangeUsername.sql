with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text, login_name text)
)
select n, u.user_id as id, u.owner, u.username, u.own_login_name as "ownLoginName", coalesce(h.own_login_names, false) as "ownLoginNames",
               u.version, u.created, u.changed, l.user_id as "takenBy", l.owner as "takenIn"
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id
             left join organizations h on h.organization_id = asked.owner
             left join lateral (
               select d.user_id, d.owner from login_names d where not h.own_login_names and d.login_name = asked.login_name
               union all
               select o.user_id, o.owner from organization_login_names o
               where h.own_login_names and o.owner = asked.owner and o.login_name = asked.login_name) l on l.user_id <> asked.id;

-- appends: facts/user.username_changed.sql
