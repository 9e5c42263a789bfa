-- The sign-ins of a user are exported page by page in the order of these keys, however many there are to one application.

-- step: index
create index concurrently if not exists sign_ons_of_user on sign_ons (user_id, app_id, sign_on_id);

-- step: transaction
drop index sign_ons_user;
