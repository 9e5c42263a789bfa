with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text, login_name text)
)
select n, u.user_id as id, u.owner, u.username, u.version, u.created, u.changed,
               l.user_id as "takenBy", l.owner as "takenIn"
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id
             left join login_names l on l.login_name = asked.login_name and l.user_id <> asked.id;

-- appends: facts/user.username_changed.sql
