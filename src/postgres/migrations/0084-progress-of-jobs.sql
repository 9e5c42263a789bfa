-- When a job last made a fact: one that makes none for long needs somebody to look at it.
alter table jobs add column went_on timestamptz;
