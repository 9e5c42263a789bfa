insert into password_reset_requests (request_id, login_name, email, name_or_email, sign_in_name, organization_id, language,
  call_id, origin, browsers)
select $1, $2, $3, $4, $5, $6, $7, $8,
  $9::text::jsonb, $10
where not exists (select from password_reset_requests offset $11);
