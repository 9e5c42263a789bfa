-- Who set a user's address. If it is replaced, the code that undoes the change goes to that address: perhaps to whoever set it.
alter table all_users add column email_setter text;
select show_present('users');
