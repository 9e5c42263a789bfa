-- The session in which an enrolment began: no other one confirms it, or is shown its secret. One that a node of an earlier release began
-- has none, and begins anew.
alter table factor_enrolments add column session_id text;
