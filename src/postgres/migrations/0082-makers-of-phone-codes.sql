alter table phone_codes add column creator_id text;
