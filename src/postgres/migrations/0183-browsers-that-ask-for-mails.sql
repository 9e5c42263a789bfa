-- step: transaction
-- The hashes of the cookies by which the browser that asked for a code to sign in may be known, with spaces in between. Nodes of earlier
-- releases neither write nor read it.
alter table password_reset_requests add column browsers text;
