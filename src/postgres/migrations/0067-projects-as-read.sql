-- replaces sha256 712717cdc3196eec8629d1d02be499561307645c918e32fcd00a63ed50041406

-- step: index
create index concurrently if not exists projects_as_read on projects (owner, as_read(folded(name)));
