-- The user who made an access token or a code: what somebody else made ends when its user gets a role that covers more than its maker
-- holds. Of older tokens the log knows it; codes end within a day.
alter table access_tokens add column creator_id text;
