insert into password_reset_requests (request_id, login_name, email, language)
select $1, $2, $3, $4
where not exists (select from password_reset_requests offset $5);
