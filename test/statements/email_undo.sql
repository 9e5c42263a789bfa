with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, macs text[], now timestamptz)
)
select n, u.user_id as id, u.owner, u.version, u.created, u.changed, c.email, c.mail_code_id as "codeId",
               c.creator_id as "creatorId"
             from asked cross join lateral unnest(asked.macs) as m (mac)
             join mail_codes c on c.mac = decode(m.mac, 'hex') and c.purpose = 'undo' and c.expiration_date > asked.now
             join users u on u.owner = c.owner and u.user_id = c.user_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner));
