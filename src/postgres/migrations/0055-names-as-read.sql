-- Names are told apart as people read them: in the compatibility form, whatever the case, the kind and number of blanks, and
-- characters that show nothing. Those that there are already stay, whether others look like them or not.
-- replaces sha256 4a95242604c93eecece2888d73ee94857d52022f86f22115425b85433b44d327

-- step: transaction
-- Takes a folded text, and calls no function of ours: since PostgreSQL 17 an index is built with a search path that has none of them.
-- A letter and its accent are composed once what stood between them is gone.
create function as_read(folded text) returns text language sql immutable strict parallel safe as $$
  select btrim(regexp_replace(normalize(regexp_replace(folded collate "C",
    '[\u0001-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+',
    '', 'g'), NFC), '[\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+', ' ', 'g'))
$$;

-- Of two that are named alike at once one must lose, also on a node of an earlier release. So names that are given from now on have a
-- key that is unique. It follows from the row and from the time of its last fact alone: a log that is replayed gives the same keys. In an instance that has names the last step of the names of applications says since when.
alter table instance add column names_compared_since timestamptz not null default 'infinity';
alter table instance alter names_compared_since set default now();
create function write_name_key() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' or new.name <> old.name then
    new.name_key := case when new.changed >= (select names_compared_since from instance) then as_read(folded(new.name)) end;
  end if;
  return new;
end $$;
