select (select count(*)::int from (select from all_users u where u.owner = $1 and u.locked and u.active and not u.deleted
      and coalesce(u.locked_until, 'infinity') > $2 order by coalesce(u.locked_until, 'infinity') limit $3) counted) as locked,
(select count(*)::int from (select from invitations v where v.owner = $4 and v.expiration_date > $5 order by v.expiration_date limit $6) counted) as invitations,
(select count(*)::int from (select from access_tokens t where t.owner = $7 and t.expiration_date > $8 and t.expiration_date <= $9
      order by t.expiration_date limit $10) counted) as tokens,
(select count(*)::int from (select from client_secrets s where s.owner = $11 and s.expiration_date > $12 and s.expiration_date <= $13
      order by s.expiration_date limit $14) counted) as secrets,
(select count(*)::int from (select from applications a where a.owner collate "C" = $15 and cardinality(a.compliance_problems) > 0
        and exists (select from projects p where p.project_id = a.project_id offset 0)
      order by a.name, a.app_id limit $16) counted) as "notCompliant";

select (select count(*)::int from (select from mail_messages where dead is not null order by dead limit $1) counted) as mails, (select count(*)::int from (select from sms_messages where dead is not null order by dead limit $2) counted) as sms, (select count(*)::int from (select from logout_messages where dead is not null order by dead limit $3) counted) as "signOuts",
(select count(*)::int from migrations) as "migrationCount",
(select name from migrations order by name desc limit 1) as "latestMigration",
(select coalesce(json_agg(json_build_object('kid', k.kid, 'algorithm', k.algorithm, 'signsFrom', k.signs_from)), '[]')
 from (select k.kid, k.algorithm, k.signs_from from signing_keys k
   where k.withdrawn is null and not exists (
     select from signing_keys n where n.algorithm = k.algorithm and n.version > k.version
       and n.withdrawn is null and n.signs_from <= $4)
   order by k.algorithm, k.version limit $5) k) as keys;
