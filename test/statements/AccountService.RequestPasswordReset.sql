insert into password_reset_requests (request_id, login_name, email, name_or_email, language)
select $1, $2, $3, $4, $5
where not exists (select from password_reset_requests offset $6);
