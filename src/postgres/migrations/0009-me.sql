-- `me` stands for the caller wherever a request names a user. Not validated: ids were always made by the service, and the users of a
-- large instance need not be read under a lock for that.
alter table users add constraint users_user_id_is_no_alias check (user_id <> 'me') not valid;
