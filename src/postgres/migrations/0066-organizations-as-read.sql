-- replaces sha256 8dacbce5eebc88ce39f11b7e140efdabe1ec15d40c1d74bacf98ada41515c2ac

-- step: index
create index concurrently if not exists organizations_as_read on organizations (as_read(folded(name))) where not deleted;
