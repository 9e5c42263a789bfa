-- The audit log is listed by time: of an organization, of an object, by an actor, and of the whole instance. A list of the
-- instance names no organization, so these do not all lead with it. Who follows the log reads events_log.
drop index events_owner;
drop index events_actor;
create index events_of_organization on events (owner, time, position);
create index events_of_object on events (stream, time, position);
create index events_of_actor on events (actor, time, position);
create index events_by_time on events (time, position);
