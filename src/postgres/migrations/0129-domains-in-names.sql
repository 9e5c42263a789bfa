-- step: transaction
-- Since when an organization has a domain without interruption: names of users contain the domain that it has had for longest.
alter table domains add column proven_since timestamptz;
update domains d set proven_since = (
  select min(e.time) from events e
  where e.owner = d.owner and e.stream = d.domain_id and e.type in ('domain.added', 'domain.verified')
    and (e.type = 'domain.verified' or (e.payload->>'withoutDns')::boolean)
    and e.version > coalesce((
      select max(l.version) from events l where l.owner = d.owner and l.stream = d.domain_id and l.type = 'domain.lost'), 0))
where d.proven;
create index domains_in_names on domains (owner, proven_since, domain_id) where proven;
