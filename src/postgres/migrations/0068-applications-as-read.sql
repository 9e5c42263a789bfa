create index applications_as_read on applications (project_id, as_read(folded(name)));
