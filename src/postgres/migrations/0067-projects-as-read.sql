create index projects_as_read on projects (owner, as_read(folded(name)));
