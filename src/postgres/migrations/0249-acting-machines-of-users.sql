-- Which machines acted for a user is kept no longer than the user: an exchange that was under way while the user was deleted left its row.

-- step: transaction
alter table acting_machines add constraint acting_machines_user foreign key (user_id) references all_users (user_id)
  on delete cascade not valid;

-- step: batches of acting_machines by user_id, app_id, machine_id, api_id
delete from acting_machines where :batch and not exists (select from all_users u where u.user_id = acting_machines.user_id);

-- step: transaction
alter table acting_machines validate constraint acting_machines_user;
