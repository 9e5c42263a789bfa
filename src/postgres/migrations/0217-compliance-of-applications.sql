-- The rules that an application breaks are stored when it is written, for lists and counts. The version says which state they were found
-- for: where it is another one, a node that does not know the columns has written since, and the sweep finds them again. What existed before
-- is judged by it too, because the rules parse URIs as browsers do, which SQL cannot.

-- step: transaction
alter table applications add column compliance_problems text[], add column compliance_version bigint;

-- step: index
create index concurrently if not exists applications_to_judge on applications (app_id) where compliance_version is distinct from version;

-- step: index
create index concurrently if not exists applications_not_compliant on applications (project_id collate "C", name, app_id)
  where compliance_version is distinct from version or cardinality(compliance_problems) > 0;

-- step: index
create index concurrently if not exists applications_of_organization_not_compliant on applications (owner collate "C", name, app_id)
  where compliance_version is distinct from version or cardinality(compliance_problems) > 0;
