-- Finds the role of a project whose key people would read as a new one. Keys that there are stay, whether others look like them or not.

-- step: index
create index concurrently if not exists project_roles_as_read on all_project_roles (project_id, as_read(folded(role_key)));
