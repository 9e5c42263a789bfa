with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n, asked.owner, asked.id, last.version, f.time as created, last.time as changed,
               u.user_id is null or u.deleted and u.erasure_date is null as "isGone",
               last.type = 'user.erased' or last.type = 'user.deleted' and coalesce((last.payload->>'erases')::boolean, false)
                 as "isErased",
               u.erasure_date as "erasureDate", coalesce((
  select p.restore_days from instance cross join lateral (select q.* from privacy_policies q where q.owner in (asked.owner, instance_id) order by q.owner = asked.owner desc limit 1) p), 7) as "restoreDays",
               coalesce((
  select p.self_erasure from instance cross join lateral (select q.* from privacy_policies q where q.owner in (asked.owner, instance_id) order by q.owner = asked.owner desc limit 1) p), false) as "selfErasure", u.kind,
               (select max(c.expiration_date) from mail_codes c where c.user_id = asked.id and c.purpose = 'undo') as "undoUntil",
               exists (
  select from members m where m.user_id = u.user_id and (m.scope = 'instance' or m.owner = u.owner) and case m.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end = any(m.roles)
    and not exists (select from members o join users w on w.user_id = o.user_id and w.active
  join organizations h on h.organization_id = w.owner and (h.active or h.organization_id = o.scope_id)
  where o.scope = m.scope and o.scope_id = m.scope_id and case o.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end = any(o.roles) and o.user_id <> m.user_id)) as "lastOwner"
             from asked
             join events f on f.owner = asked.owner and f.stream = asked.id and f.version = 1
             cross join lateral (
               select e.version, e.type, e.payload, e.time from events e
               where e.owner = asked.owner and e.stream = asked.id order by e.version desc limit 1) last
             left join all_users u on u.owner = asked.owner and u.user_id = asked.id;

-- appends: facts/user.erasure_scheduled.sql
