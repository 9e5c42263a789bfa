select d.domain_id as id, d.owner, d.name, d.token, d.proven, d.without_dns as "withoutDns", d.verified,
d.missing_since as "missingSince", d.version, d.created, d.changed,
case when c.due < 'infinity' then c.due end as due, c.checked, c.result, c.answer from domains d join domain_checks c on c.domain_id = d.domain_id
where d.owner = $1 and true
order by d.domain_id desc limit $2;

select d.domain_id as id, d.owner, d.name, d.token, d.proven, d.without_dns as "withoutDns", d.verified,
d.missing_since as "missingSince", d.version, d.created, d.changed,
case when c.due < 'infinity' then c.due end as due, c.checked, c.result, c.answer from domains d join domain_checks c on c.domain_id = d.domain_id
where d.owner = $1 and d.domain_id < $2
order by d.domain_id desc limit $3;
