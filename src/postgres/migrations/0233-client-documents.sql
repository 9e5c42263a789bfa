-- Clients that bring their own document (docs/mcp.md) are applications from the first consent on, whose client id is the URL of the document.
-- They are not in client_ids, because one document may be a client in several projects. Nodes of before do not find them.

-- step: transaction
alter table applications add column is_document boolean not null default false;

-- step: index
create unique index concurrently if not exists applications_document on applications (project_id, client_id) where is_document;
