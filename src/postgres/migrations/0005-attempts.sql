-- How many attempts were allowed when the last one was counted: where fewer are allowed since, the next one is the last.
alter table password_attempts add column allowed integer;
