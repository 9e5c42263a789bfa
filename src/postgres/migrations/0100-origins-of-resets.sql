-- Which call asked for a new password, and from where, so that the events of the answer say so. Nodes of before leave both empty.
-- step: transaction
alter table password_reset_requests add column call_id text, add column origin jsonb;
