-- step: transaction
-- A sign-in that waits for a factor may have begun with a mailed code: `method` is that of its first step (RFC 8176). Users without a
-- password have no `since`.
alter table pending_sessions alter column since drop not null, add column method text not null default 'pwd';
