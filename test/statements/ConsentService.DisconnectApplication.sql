with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, "user" text, app text, now timestamptz)
)
select n, c.consent_id as id, c.owner, c.scopes, c.version, c.created, c.changed,
        c.consent_id is not null or exists (select from sign_ons s
          where s.user_id = asked."user" and s.app_id = asked.app and s.expiration_date > asked.now offset 0)
        or exists (select from acting_machines m
          where m.user_id = asked."user" and m.app_id = asked.app and m.expiration_date > asked.now offset 0) as "isConnected"
      from asked left join consents c on c.user_id = asked."user" and c.app_id = asked.app;

-- appends: facts/consent.withdrawn.sql
