-- The domains of organizations, and when their TXT records are looked up.
create table domains (
  owner text not null,
  domain_id text primary key,
  name text not null,
  token text not null,
  proven boolean not null,
  without_dns boolean not null,
  verified timestamptz,
  missing_since timestamptz,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null
);
create unique index domains_of_owner_by_name on domains (owner, name);
create index domains_of_owner on domains (owner, domain_id);
create unique index domains_proven on domains (name) where proven;

-- What DNS answered last. What is not looked up is due at infinity.
create table domain_checks (
  domain_id text primary key,
  owner text not null,
  due timestamptz not null,
  lease bigint not null default 0,
  checked timestamptz,
  result text,
  answer text
);
create index domain_checks_due on domain_checks (due) where due < 'infinity';
create index domain_checks_of_owner on domain_checks (owner, due) where due < 'infinity';

create view domains_to_check as select c.*, null::timestamptz as dead from domain_checks c where c.due < 'infinity';
