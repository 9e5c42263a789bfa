-- replaces sha256 bf1c414b75288ea33efecff46fa2bd3b80dcdb79d1a6b554f4cc86fbac847944

-- step: index
create index concurrently if not exists applications_as_read on applications (project_id, as_read(folded(name)));
