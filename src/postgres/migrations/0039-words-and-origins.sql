-- A subquery in a function is planned and started for each row: the origins took a fifth of what a new application cost the database,
-- and the words an eighth. Loops over arrays take less than half of the time.

-- The words of some texts in the order of their bytes, each once and between blanks; null without any. Of letters and digits of ASCII all
-- signs are cut at once. Among at most 16 words no text has more, which is where `words_of` ends. Lists count on the order, and rows of
-- before have it. Few words find their places in a loop; of more than eight a subquery sorts them sooner. It brings its search path: a
-- dump is restored without one, and the rows of its tables then find their words.
create or replace function words_in(variadic texts text[]) returns text language plpgsql immutable parallel safe
set search_path from current as $$
declare
  plain text := lower(array_to_string(texts, ' ') collate "C");
  words text[] := string_to_array(btrim(regexp_replace(plain, '[^a-z0-9]+', ' ', 'g')), ' ');
  word text;
  found text[] := '{}';
  place integer;
begin
  if octet_length(plain) > length(plain) or cardinality(words) > 16 then
    words := array(select w from unnest(texts) as value cross join words_of(value) as w);
  end if;
  if cardinality(words) > 8 then
    return (
      select ' ' || string_agg(distinct left(w, 50) collate "C", ' ' order by left(w, 50) collate "C") || ' '
      from unnest(words) as w);
  end if;
  foreach word in array words loop
    word := left(word, 50);
    continue when word = any(found);
    place := cardinality(found);
    while place > 0 and found[place] > word collate "C" loop
      found[place + 1] := found[place];
      place := place - 1;
    end loop;
    found[place + 1] := word;
  end loop;
  return ' ' || nullif(array_to_string(found, ' '), '') || ' ';
end $$;

-- The origins of an application: its additional ones, and those of its redirect URIs; one may be there twice.
create or replace function origins_of(oidc jsonb) returns text[] language plpgsql immutable parallel safe as $$
declare
  uris jsonb := coalesce(oidc->'redirectUris', '[]');
  additional jsonb := coalesce(oidc->'additionalOrigins', '[]');
  origins text[] := '{}';
begin
  for at in 0 .. jsonb_array_length(additional) - 1 loop
    origins := origins || (additional->>at);
  end loop;
  for at in 0 .. jsonb_array_length(uris) - 1 loop
    origins := origins || lower(substring(uris->>at from '^[Hh][Tt][Tt][Pp][Ss]?://[^/?#]+'));
  end loop;
  return array_remove(origins, null);
end $$;
