-- By itself, for it takes a minute where names are many: the table is read meanwhile.
create index organizations_as_read on organizations (as_read(folded(name))) where not deleted;
