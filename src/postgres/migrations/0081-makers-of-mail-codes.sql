alter table mail_codes add column creator_id text;
