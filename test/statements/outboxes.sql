with recursive
  oldest as materialized (
    select d.owner, d.id, row_number() over () as place from (
      select m.owner, m.message_id as id from logout_messages m where m.dead is null and m.due <= now() order by m.due limit $1
    ) d
  ), walk (visit, owner, is_due, found, again) as (
    select 0, $2::text, false, 0, false where (select count(*) from oldest) = $3
    union all
    select w.visit + 1, next.owner, next.is_due, w.found + next.is_due::int, next.again
    from walk w cross join lateral (
      select n.owner, n.due <= now() and not n.owner = any($4::text[]) as is_due, n.again from (
        (select m.owner, m.due, w.again from logout_messages m where m.dead is null and m.owner > w.owner order by m.owner, m.due limit 1)
        union all
        (select m.owner, m.due, true from logout_messages m where m.dead is null and not w.again order by m.owner, m.due limit 1)
        limit 1
      ) n
    ) next
    where w.visit < $5 and w.found < $6 and not (next.again and next.owner > $7)), turns as materialized (
    select t.owner, coalesce(h.room, $8) as room
    from (
      select owner, min(place) as place from oldest where (select count(*) from oldest) < $9 group by owner
      union all
      select owner, visit from walk where is_due
    ) t left join unnest($10::text[], $11::int[]) as h (owner, room) on h.owner = t.owner
    where coalesce(h.room, $12) > 0
    order by h.owner is not null, t.place limit $13
  ), due as materialized (
    select m.id from turns t cross join lateral (
      select m.message_id as id from logout_messages m
      where m.dead is null and (m.owner, m.due) >= (t.owner, '-infinity'::timestamptz) and (m.owner, m.due) <= (t.owner, now())
      order by m.owner, m.due limit least(t.room, greatest(1, $14 / (select count(*) from turns))) for update skip locked
    ) m
  ), taken as (
update logout_messages m set attempts = m.attempts + 1, due = now() + make_interval(secs => $15)
from due d where m.message_id = d.id
returning m.message_id as id, m.owner, m.attempts, m.session_id as "sessionId", m.user_id as "userId", m.app_id as "appId", m.created,
  (select a.client_id from applications a where a.app_id = m.app_id) as "clientId",
  (select a.oidc from applications a where a.app_id = m.app_id) as oidc)
  select taken.*, at.visit, at.visited from (select) one
  left join (select visit, owner as visited from walk order by visit desc limit 1) at on true left join taken on true;

with recursive
  oldest as materialized (
    select d.owner, d.id, row_number() over () as place from (
      select m.owner, m.mail_id as id from mail_messages m where m.dead is null and m.due <= now() order by m.due limit $1
    ) d
  ), walk (visit, owner, is_due, found, again) as (
    select 0, $2::text, false, 0, false where (select count(*) from oldest) = $3
    union all
    select w.visit + 1, next.owner, next.is_due, w.found + next.is_due::int, next.again
    from walk w cross join lateral (
      select n.owner, n.due <= now() and not n.owner = any($4::text[]) as is_due, n.again from (
        (select m.owner, m.due, w.again from mail_messages m where m.dead is null and m.owner > w.owner order by m.owner, m.due limit 1)
        union all
        (select m.owner, m.due, true from mail_messages m where m.dead is null and not w.again order by m.owner, m.due limit 1)
        limit 1
      ) n
    ) next
    where w.visit < $5 and w.found < $6 and not (next.again and next.owner > $7)), turns as materialized (
    select t.owner, coalesce(h.room, $8) as room
    from (
      select owner, min(place) as place from oldest where (select count(*) from oldest) < $9 group by owner
      union all
      select owner, visit from walk where is_due
    ) t left join unnest($10::text[], $11::int[]) as h (owner, room) on h.owner = t.owner
    where coalesce(h.room, $12) > 0
    order by h.owner is not null, t.place limit $13
  ), due as materialized (
    select m.id from turns t cross join lateral (
      select m.mail_id as id from mail_messages m
      where m.dead is null and (m.owner, m.due) >= (t.owner, '-infinity'::timestamptz) and (m.owner, m.due) <= (t.owner, now())
      order by m.owner, m.due limit least(t.room, greatest(1, $14 / (select count(*) from turns))) for update skip locked
    ) m
  ), taken as (
update mail_messages m set attempts = m.attempts + 1, due = now() + make_interval(secs => $15)
from due d where m.mail_id = d.id
returning m.mail_id as id, m.owner, m.user_id as "userId", m.attempts, m.kind, m.email, m.language, m.sealed,
  m.expiration_date as expiration, case when m.kind in ('organization_invitation', 'registration', 'registration_known') then ''
    else (select u.username from all_users u
      where u.user_id = m.user_id and (not u.deleted or u.erasure_date is not null)) end as "loginName",
  m.sealed is null or m.kind = 'registration_known' or exists (select from mail_codes c where c.mail_id = m.mail_id) as "isNeeded")
  select taken.*, at.visit, at.visited from (select) one
  left join (select visit, owner as visited from walk order by visit desc limit 1) at on true left join taken on true;

with recursive
  oldest as materialized (
    select d.owner, d.id, row_number() over () as place from (
      select m.owner, m.phone_code_id as id from sms_messages m where m.dead is null and m.due <= now() order by m.due limit $1
    ) d
  ), walk (visit, owner, is_due, found, again) as (
    select 0, $2::text, false, 0, false where (select count(*) from oldest) = $3
    union all
    select w.visit + 1, next.owner, next.is_due, w.found + next.is_due::int, next.again
    from walk w cross join lateral (
      select n.owner, n.due <= now() and not n.owner = any($4::text[]) as is_due, n.again from (
        (select m.owner, m.due, w.again from sms_messages m where m.dead is null and m.owner > w.owner order by m.owner, m.due limit 1)
        union all
        (select m.owner, m.due, true from sms_messages m where m.dead is null and not w.again order by m.owner, m.due limit 1)
        limit 1
      ) n
    ) next
    where w.visit < $5 and w.found < $6 and not (next.again and next.owner > $7)), turns as materialized (
    select t.owner, coalesce(h.room, $8) as room
    from (
      select owner, min(place) as place from oldest where (select count(*) from oldest) < $9 group by owner
      union all
      select owner, visit from walk where is_due
    ) t left join unnest($10::text[], $11::int[]) as h (owner, room) on h.owner = t.owner
    where coalesce(h.room, $12) > 0
    order by h.owner is not null, t.place limit $13
  ), due as materialized (
    select m.id from turns t cross join lateral (
      select m.phone_code_id as id from sms_messages m
      where m.dead is null and (m.owner, m.due) >= (t.owner, '-infinity'::timestamptz) and (m.owner, m.due) <= (t.owner, now())
      order by m.owner, m.due limit least(t.room, greatest(1, $14 / (select count(*) from turns))) for update skip locked
    ) m
  ), taken as (
update sms_messages m set attempts = m.attempts + 1, due = now() + make_interval(secs => $15)
from due d left join phone_codes c on c.phone_code_id = d.id where m.phone_code_id = d.id
returning m.phone_code_id as id, m.owner, m.user_id as "userId", m.attempts, c.phone, c.sealed, c.expiration_date as expiration)
  select taken.*, at.visit, at.visited from (select) one
  left join (select visit, owner as visited from walk order by visit desc limit 1) at on true left join taken on true;

with recursive
  oldest as materialized (
    select d.owner, d.id, row_number() over () as place from (
      select m.owner, m.domain_id as id from domains_to_check m where m.dead is null and m.due <= now() order by m.due limit $1
    ) d
  ), walk (visit, owner, is_due, found, again) as (
    select 0, $2::text, false, 0, false where (select count(*) from oldest) = $3
    union all
    select w.visit + 1, next.owner, next.is_due, w.found + next.is_due::int, next.again
    from walk w cross join lateral (
      select n.owner, n.due <= now() and not n.owner = any($4::text[]) as is_due, n.again from (
        (select m.owner, m.due, w.again from domains_to_check m where m.dead is null and m.owner > w.owner order by m.owner, m.due limit 1)
        union all
        (select m.owner, m.due, true from domains_to_check m where m.dead is null and not w.again order by m.owner, m.due limit 1)
        limit 1
      ) n
    ) next
    where w.visit < $5 and w.found < $6 and not (next.again and next.owner > $7)), turns as materialized (
    select t.owner, coalesce(h.room, $8) as room
    from (
      select owner, min(place) as place from oldest where (select count(*) from oldest) < $9 group by owner
      union all
      select owner, visit from walk where is_due
    ) t left join unnest($10::text[], $11::int[]) as h (owner, room) on h.owner = t.owner
    where coalesce(h.room, $12) > 0
    order by h.owner is not null, t.place limit $13
  ), due as materialized (
    select m.id from turns t cross join lateral (
      select m.domain_id as id from domains_to_check m
      where m.dead is null and (m.owner, m.due) >= (t.owner, '-infinity'::timestamptz) and (m.owner, m.due) <= (t.owner, now())
      order by m.owner, m.due limit least(t.room, greatest(1, $14 / (select count(*) from turns))) for update skip locked
    ) m
  ), taken as (
update domain_checks c set lease = c.lease + 1, due = now() + make_interval(secs => $15)
from due join domains d on d.domain_id = due.id
where c.domain_id = due.id
returning c.domain_id as id, c.owner, c.lease, d.name, d.token)
  select taken.*, at.visit, at.visited from (select) one
  left join (select visit, owner as visited from walk order by visit desc limit 1) at on true left join taken on true;

with waiting as materialized (
  select message_id from logout_messages
  where (app_id, due) >= ($1, '-infinity'::timestamptz) and (app_id, due) < ($2, now() + make_interval(secs => $3))
    and message_id <> $4 and dead is null
  order by app_id, due limit $5 for update skip locked
), others as (
  update logout_messages m set due = now() + make_interval(secs => $6), attempts = greatest(attempts, $7)
  from waiting w where m.message_id = w.message_id
)
update logout_messages set due = now() + make_interval(secs => $8), failure = $9
where message_id = $10 and attempts = $11 and dead is null;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n, d.domain_id as id, d.owner, d.name, d.token, d.proven, d.without_dns as "withoutDns", d.verified,
  d.missing_since as "missingSince", d.version, d.created, d.changed,
  case when c.due < 'infinity' then c.due end as due, c.checked, c.result, c.answer, c.lease,
               exists (select from domains h where h.name = d.name and h.proven and h.domain_id <> d.domain_id) as "isTaken",
               extract(epoch from now() - d.changed)::float8 as "waitedSeconds",
               extract(epoch from d.missing_since + interval '3 days' - now())::float8 as "secondsLeft"
             from asked join domains d on d.owner = asked.owner and d.domain_id = asked.id
             join domain_checks c on c.domain_id = d.domain_id
             join organizations o on o.organization_id = d.owner and not o.deleted;

update domain_checks set checked = now(), result = $1, answer = $2,
  due = coalesce(now() + make_interval(secs => $3), due)
where domain_id = $4;
