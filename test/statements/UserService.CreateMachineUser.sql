with given as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
asked as materialized (
  select n, owner, payload->>'loginName' as login_name, case when (payload->>'idChosen')::boolean then stream end as user_id,
    coalesce((payload->>'ownLoginName')::boolean, false) as own from given
),
found as materialized (
  select found.*, "takenBy" is null and not "idUsed" and own = "ownLoginNames" as holds
    from (select n, asked.own, l.user_id as "takenBy", l.owner as "takenIn", coalesce(h.own_login_names, false) as "ownLoginNames",
               asked.user_id is not null and (exists (select from events e where e.stream = asked.user_id offset 0)
                 or exists (select from burned_ids b where b.id = asked.user_id offset 0)) as "idUsed" from asked left join organizations h on h.organization_id = asked.owner
             left join lateral (
               select d.user_id, d.owner from login_names d where not h.own_login_names and d.login_name = asked.login_name
               union all
               select o.user_id, o.owner from organization_login_names o
               where h.own_login_names and o.owner = asked.owner and o.login_name = asked.login_name) l on true offset 0) found
),
input as materialized (
  select * from given where n = any(array(select n from found where holds))
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"user.machine_created/0" as (insert into users (owner, user_id, kind, username, name, active, own_login_name, version, created, changed)
       select f.owner, f.stream, 'machine', f.payload->>'username', f.payload->>'name', not coalesce((f.payload->>'inactive')::boolean, false),
         coalesce((f.payload->>'ownLoginName')::boolean, false), f.version, f.time, f.time
       from (select * from facts where type = 'user.machine_created') f),
"user.machine_created/1" as (insert into login_names (login_name, owner, user_id)
  select f.payload->>'loginName', f.owner, f.stream from (select * from facts where type = 'user.machine_created') f where f.payload->>'loginName' <> '' and not coalesce((f.payload->>'ownLoginName')::boolean, false)),
"user.machine_created/2" as (insert into organization_login_names (owner, login_name, user_id, own)
  select f.owner, f.payload->>'loginName', f.stream, true from (select * from facts where type = 'user.machine_created') f where f.payload->>'loginName' <> '' and coalesce((f.payload->>'ownLoginName')::boolean, false)),
"user.machine_created/3" as (insert into chosen_ids (id) select f.stream from (select * from facts where type = 'user.machine_created') f where (f.payload->>'idChosen')::boolean)
select * from found;
