-- Which organizations have granted a project to another, whose administrators may read their names.

-- step: index
create index concurrently if not exists project_grants_between on all_project_grants (granted_organization_id, owner);
