with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, project text, name text, client_id text)
)
select n, (
               select a.app_id from applications a
               where a.project_id = asked.project and as_read(folded(a.name)) = as_read(folded(asked.name)) limit 1) as "takenBy",
               (exists (select from used_client_ids u where u.client_id = asked.client_id offset 0)
                 or exists (select from burned_ids b where b.id = asked.client_id offset 0)) as "clientIdUsed"
             from asked join projects p on p.owner = asked.owner and p.project_id = asked.project;

select * from (
select a.app_id as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc, a.api, a.is_api as "isApi", a.is_document as "isDocument",
a.active, a.version, a.created, a.changed,
exists (select from application_keys k where k.app_id = a.app_id) as "hasKey",
(select max(s.expiration_date) from client_secrets s where s.app_id = a.app_id) as "replacedUntil", a.name as key, true as "isMatch",
  row_number() over (order by a.name asc, a.app_id asc) = $1 as "isLast"
from applications a where a.project_id = $2
  and true
order by a.name asc, a.app_id asc limit $3) found
where "isMatch" or "isLast" order by key asc, id asc limit $4;

select * from (
select a.app_id as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc, a.api, a.is_api as "isApi", a.is_document as "isDocument",
a.active, a.version, a.created, a.changed,
exists (select from application_keys k where k.app_id = a.app_id) as "hasKey",
(select max(s.expiration_date) from client_secrets s where s.app_id = a.app_id) as "replacedUntil", a.name as key, true as "isMatch",
  row_number() over (order by a.name asc, a.app_id asc) = $1 as "isLast"
from applications a where a.project_id = $2
  and (a.name, a.app_id) > ($3, $4)
order by a.name asc, a.app_id asc limit $5) found
where "isMatch" or "isLast" order by key asc, id asc limit $6;

select * from (
select a.app_id as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc, a.api, a.is_api as "isApi", a.is_document as "isDocument",
a.active, a.version, a.created, a.changed,
exists (select from application_keys k where k.app_id = a.app_id) as "hasKey",
(select max(s.expiration_date) from client_secrets s where s.app_id = a.app_id) as "replacedUntil", a.name as key, true and coalesce(exists (select from projects p where p.project_id = a.project_id offset 0), false) as "isMatch",
  row_number() over (order by a.name asc, a.app_id asc) = $1 as "isLast"
from applications a where a.owner = $2
  and true
order by a.name asc, a.app_id asc limit $3) found
where "isMatch" or "isLast" order by key asc, id asc limit $4;

select * from (
select (a.app_id collate "C") as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc, a.api, a.is_api as "isApi", a.is_document as "isDocument",
a.active, a.version, a.created, a.changed,
exists (select from application_keys k where k.app_id = a.app_id) as "hasKey",
(select max(s.expiration_date) from client_secrets s where s.app_id = a.app_id) as "replacedUntil", (folded(a.name) collate "C") as key, true and coalesce(exists (select from projects p where p.project_id = a.project_id offset 0), false) as "isMatch",
  row_number() over (order by (folded(a.name) collate "C") desc, (a.app_id collate "C") desc) = $1 as "isLast"
from applications a where (a.owner collate "C") = $2 and (folded(a.name) collate "C") >= (select folded($3)) and (folded(a.name) collate "C") < (select folded($4) || chr(1114111))
  and true
order by (folded(a.name) collate "C") desc, (a.app_id collate "C") desc limit $5) found
where "isMatch" or "isLast" order by id desc limit $6;

select * from (
select (a.app_id collate "C") as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc, a.api, a.is_api as "isApi", a.is_document as "isDocument",
a.active, a.version, a.created, a.changed,
exists (select from application_keys k where k.app_id = a.app_id) as "hasKey",
(select max(s.expiration_date) from client_secrets s where s.app_id = a.app_id) as "replacedUntil", (folded(a.name) collate "C") as key, true and coalesce(exists (select from projects p where p.project_id = a.project_id offset 0), false) as "isMatch",
  row_number() over (order by (folded(a.name) collate "C") asc, (a.app_id collate "C") asc) = $1 as "isLast"
from applications a where (a.owner collate "C") = $2 and (folded(a.name) collate "C") >= (select folded($3)) and (folded(a.name) collate "C") < (select folded($4) || chr(1114111))
  and true
order by (folded(a.name) collate "C") asc, (a.app_id collate "C") asc limit $5) found
where "isMatch" or "isLast" order by key asc, id asc limit $6;

select * from (
  select w.object_id as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc, a.api, a.is_api as "isApi", a.is_document as "isDocument",
  a.active, a.version, a.created, a.changed,
  exists (select from application_keys k where k.app_id = a.app_id) as "hasKey",
  (select max(s.expiration_date) from client_secrets s where s.app_id = a.app_id) as "replacedUntil", w.term as key, true and coalesce(exists (select from projects p where p.project_id = a.project_id offset 0), false) and strpos(a.words, (select ' ' || left(folded($1), 50))) = strpos(a.words, ' ' || w.term || ' ') as "isMatch", w."isLast"
  from (
    select w.term, w.object_id, row_number() over (order by w.term asc, w.object_id asc) = $2 as "isLast" from (select * from terms where noun = 'application_of_organization' and scope = $3) w
    where
w.term >= (select left(folded($4), 50)) and w.term < (select left(folded($5), 50) || chr(1114111))
      and true
    order by w.term asc, w.object_id asc limit $6
  ) w cross join lateral (
    select * from applications a where a.owner = $7 and a.app_id = w.object_id limit 1
  ) a) found
  where "isMatch" or "isLast" order by key asc, id asc limit $8;

select * from (
select a.app_id as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc, a.api, a.is_api as "isApi", a.is_document as "isDocument",
a.active, a.version, a.created, a.changed,
exists (select from application_keys k where k.app_id = a.app_id) as "hasKey",
(select max(s.expiration_date) from client_secrets s where s.app_id = a.app_id) as "replacedUntil", a.name as key, true and coalesce(exists (select from projects p where p.project_id = a.project_id offset 0), false) as "isMatch",
  row_number() over (order by a.name asc, a.app_id asc) = $1 as "isLast"
from applications a where (a.owner collate "C") = $2 and not a.active
  and true
order by a.name asc, a.app_id asc limit $3) found
where "isMatch" or "isLast" order by key asc, id asc limit $4;

select * from (
select a.app_id as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc, a.api, a.is_api as "isApi", a.is_document as "isDocument",
a.active, a.version, a.created, a.changed,
exists (select from application_keys k where k.app_id = a.app_id) as "hasKey",
(select max(s.expiration_date) from client_secrets s where s.app_id = a.app_id) as "replacedUntil", a.name as key, true and coalesce(exists (select from projects p where p.project_id = a.project_id offset 0), false) as "isMatch",
  row_number() over (order by a.name asc, a.app_id asc) = $1 as "isLast"
from applications a where (a.owner collate "C") = $2 and (a.compliance_version is distinct from a.version or cardinality(a.compliance_problems) > 0)
  and true
order by a.name asc, a.app_id asc limit $3) found
where "isMatch" or "isLast" order by key asc, id asc limit $4;

select * from (
  select w.object_id as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc, a.api, a.is_api as "isApi", a.is_document as "isDocument",
  a.active, a.version, a.created, a.changed,
  exists (select from application_keys k where k.app_id = a.app_id) as "hasKey",
  (select max(s.expiration_date) from client_secrets s where s.app_id = a.app_id) as "replacedUntil", w.term as key, true and coalesce(exists (select from projects p where p.project_id = a.project_id offset 0), false) and coalesce((a.compliance_version is distinct from a.version or cardinality(a.compliance_problems) = 0), false) and strpos(a.words, (select ' ' || left(folded($1), 50))) = strpos(a.words, ' ' || w.term || ' ') as "isMatch", w."isLast"
  from (
    select w.term, w.object_id, row_number() over (order by w.term asc, w.object_id asc) = $2 as "isLast" from (select * from terms where noun = 'application_of_organization' and scope = $3) w
    where
w.term >= (select left(folded($4), 50)) and w.term < (select left(folded($5), 50) || chr(1114111))
      and true
    order by w.term asc, w.object_id asc limit $6
  ) w cross join lateral (
    select * from applications a where a.owner = $7 and a.app_id = w.object_id limit 1
  ) a) found
  where "isMatch" or "isLast" order by key asc, id asc limit $8;

select * from (
select a.app_id as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc, a.api, a.is_api as "isApi", a.is_document as "isDocument",
a.active, a.version, a.created, a.changed,
exists (select from application_keys k where k.app_id = a.app_id) as "hasKey",
(select max(s.expiration_date) from client_secrets s where s.app_id = a.app_id) as "replacedUntil", a.name as key, true and coalesce((a.compliance_version is distinct from a.version or cardinality(a.compliance_problems) > 0), false) as "isMatch",
  row_number() over (order by a.name asc, a.app_id asc) = $1 as "isLast"
from applications a where (a.project_id collate "C") = $2 and not a.active
  and true
order by a.name asc, a.app_id asc limit $3) found
where "isMatch" or "isLast" order by key asc, id asc limit $4;

select * from (
  select w.object_id as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc, a.api, a.is_api as "isApi", a.is_document as "isDocument",
  a.active, a.version, a.created, a.changed,
  exists (select from application_keys k where k.app_id = a.app_id) as "hasKey",
  (select max(s.expiration_date) from client_secrets s where s.app_id = a.app_id) as "replacedUntil", w.term as key, true and coalesce(a.active, false) and strpos(a.words, (select ' ' || left(folded($1), 50))) = strpos(a.words, ' ' || w.term || ' ') as "isMatch", w."isLast"
  from (
    select w.term, w.object_id, row_number() over (order by w.term asc, w.object_id asc) = $2 as "isLast" from (select * from terms where noun = 'application' and scope = $3) w
    where
w.term >= (select left(folded($4), 50)) and w.term < (select left(folded($5), 50) || chr(1114111))
      and true
    order by w.term asc, w.object_id asc limit $6
  ) w cross join lateral (
    select * from applications a where a.project_id = $7 and a.app_id = w.object_id limit 1
  ) a) found
  where "isMatch" or "isLast" order by key asc, id asc limit $8;

select * from (
  select w.object_id as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc, a.api, a.is_api as "isApi", a.is_document as "isDocument",
  a.active, a.version, a.created, a.changed,
  exists (select from application_keys k where k.app_id = a.app_id) as "hasKey",
  (select max(s.expiration_date) from client_secrets s where s.app_id = a.app_id) as "replacedUntil", w.term as key, true and strpos(a.words, (select ' ' || left(folded($1), 50))) = strpos(a.words, ' ' || w.term || ' ') as "isMatch", w."isLast"
  from (
    select w.term, w.object_id, row_number() over (order by w.term asc, w.object_id asc) = $2 as "isLast" from (select * from terms where noun = 'application' and scope = $3) w
    where
w.term >= (select left(folded($4), 50)) and w.term < (select left(folded($5), 50) || chr(1114111))
      and true
    order by w.term asc, w.object_id asc limit $6
  ) w cross join lateral (
    select * from applications a where a.project_id = $7 and a.app_id = w.object_id limit 1
  ) a) found
  where "isMatch" or "isLast" order by key asc, id asc limit $8;

select * from (
select a.app_id as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc, a.api, a.is_api as "isApi", a.is_document as "isDocument",
a.active, a.version, a.created, a.changed,
exists (select from application_keys k where k.app_id = a.app_id) as "hasKey",
(select max(s.expiration_date) from client_secrets s where s.app_id = a.app_id) as "replacedUntil", a.name as key, true as "isMatch",
  row_number() over (order by a.name asc, a.app_id asc) = $1 as "isLast"
from applications a where (a.project_id collate "C") = $2 and not a.active
  and true
order by a.name asc, a.app_id asc limit $3) found
where "isMatch" or "isLast" order by key asc, id asc limit $4;
