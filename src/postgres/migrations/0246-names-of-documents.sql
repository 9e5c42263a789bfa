-- A client with a document has its URL as its name, and URLs are compared by bytes: those that differ only in case are two clients. The name
-- that people read counts for all others.

-- step: transaction
create or replace trigger applications_name_key before insert or update of name on applications
  for each row when (not new.is_document) execute function write_name_key();

-- step: batches of applications by app_id
update applications set name_key = null where :batch and is_document and name_key is not null;
