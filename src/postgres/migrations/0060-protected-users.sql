-- Users from elsewhere keep what protected them: a factor that could not come along has to be enrolled.
alter table users add column requires_factor boolean not null default false;
