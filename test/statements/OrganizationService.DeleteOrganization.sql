with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text)
)
select n, t.organization_id as id, t.organization_id as owner, t.active, t.version, t.created, t.changed,
               exists (select from members o join users w on w.user_id = o.user_id and w.active
  join organizations h on h.organization_id = w.owner and (h.active or h.organization_id = o.scope_id)
  where o.scope = 'instance' and o.scope_id = (select i.instance_id from instance i) and case o.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end = any(o.roles) and w.owner <> asked.id) as "ownersElsewhere"
             from asked join organizations t on t.organization_id = asked.id and not t.deleted;

with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'organization.deleted' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (
    select i.n, i.owner, i.stream, i.version, i.payload from (select * from input where type = 'organization.deleted') i
    where not exists (
      select from (
        select w.owner from members o join users w on w.user_id = o.user_id and w.active
  join organizations h on h.organization_id = w.owner and (h.active or h.organization_id = o.scope_id)
  where o.scope = 'instance' and o.scope_id = (select i.instance_id from instance i) and case o.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end = any(o.roles)
        order by o.member_id for no key update of o, w, h
      ) owners where owners.owner <> i.stream)) c (n, owner, stream, version, payload) join input i using (n)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"organization.deleted/0" as (update organizations t set active = false, deleted = true, version = f.version, changed = f.time
   from (select * from facts where type = 'organization.deleted') f where t.organization_id = f.stream),
"organization.deleted/1" as (update domains d set proven = false from (select * from facts where type = 'organization.deleted') f where d.owner = f.stream),
"organization.deleted/2" as (delete from organization_metadata m using (select * from facts where type = 'organization.deleted') f where m.organization_id = f.stream),
job as (
  insert into jobs (job_id, owner, type, stream, version, payload, actor, request_id, origin, created)
  select secret->>'jobId', owner, type, stream, version, payload, actor, request_id, origin, time from input
)
select 1;
