insert into client_assertions (app_id, hash, expiration_date) values ($1, $2, $3)
    on conflict do nothing;
