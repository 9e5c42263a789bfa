-- The applications of an organization, whichever project they belong to, are listed by name, by its beginning, by age, and by state.

-- step: index
create index concurrently if not exists applications_of_organization on applications (owner, name, app_id);

-- step: index
create index concurrently if not exists applications_of_organization_by_name on applications (owner collate "C", (folded(name) collate "C"), app_id collate "C");

-- step: index
create index concurrently if not exists applications_of_organization_inactive on applications (owner collate "C", name, app_id) where not active;

-- step: index
create index concurrently if not exists applications_of_organization_by_age on applications (owner collate "C", app_id collate "C");
