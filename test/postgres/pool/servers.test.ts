import { expect, test } from "vitest";
import { serversOf } from "../../../src/postgres/pool/servers.ts";

const read: readonly (readonly [string, readonly string[], string])[] = [
  ["postgresql://u:p@one/x", ["postgresql://u:p@one/x"], "any"],
  ["postgres://one:1,two:2,three/x", ["postgres://one:1/x", "postgres://two:2/x", "postgres://three/x"], "any"],
  [
    "postgresql://u:p%40@one,two/x?target_session_attrs=read-write&sslmode=require",
    ["postgresql://u:p%40@one/x?sslmode=require", "postgresql://u:p%40@two/x?sslmode=require"],
    "read-write",
  ],
  ["postgresql://[::1]:5433,[::2]/x", ["postgresql://[::1]:5433/x", "postgresql://[::2]/x"], "any"],
  ["postgresql://u@/x?host=one,two&port=5433", ["postgresql://u@one:5433/x", "postgresql://u@two:5433/x"], "any"],
  ["postgresql:///x?host=one,::2&port=1,2", ["postgresql://one:1/x", "postgresql://[::2]:2/x"], "any"],
  [
    "postgresql://u@localhost/x?host=%2Frun%2Fa,%2Frun%2Fb&target_session_attrs=primary",
    ["postgresql://u@localhost/x?host=%2Frun%2Fa", "postgresql://u@localhost/x?host=%2Frun%2Fb"],
    "primary",
  ],
  ["postgresql://u@%2Frun%2Fa:7/x", ["postgresql://u@localhost:7/x?host=%2Frun%2Fa"], "any"],
  ["postgresql:///x", ["postgresql:///x"], "any"],
  ["postgresql://one?target_session_attrs=any", ["postgresql://one"], "any"],
  ["postgresql://one/x?search_path=own", ["postgresql://one/x?search_path=own"], "any"],
];

test.each(read)("%s names servers as it does for libpq", (url, urls, need) => {
  expect(serversOf(url)).toEqual({ urls, need });
});

const refused: readonly (readonly [string, RegExp])[] = [
  ["mysql://one/x", /^must begin with postgresql/],
  ["postgresql://u:hidden@one,two:a/x", /^must have ports from 1 to 65535, not "a"$/],
  ["postgresql://u:hidden@one:0/x", /^must have ports from 1 to 65535/],
  ["postgresql://u:hidden@one:65536/x", /^must have ports from 1 to 65535/],
  ["postgresql://u:hidden@one,,two/x", /^must name each host/],
  [
    "postgresql://u:hidden@/x?host=one,two&port=1,2,3",
    /^must have one port, or as many ports as hosts: it has 3 for 2$/,
  ],
  [
    "postgresql://u:hidden@one/x?target_session_attrs=standby",
    /target_session_attrs of any, read-write, primary, not "standby"$/,
  ],
  ["postgresql://u:hidden@one/x?load_balance_hosts=random", /^has the parameter load_balance_hosts,/],
  ["postgresql://one/x?password=hidden", /^has the parameter password,/],
  ["postgresql://u:hidden@one/x?connect_timeout=3", /^has the parameter connect_timeout,/],
  ["postgresql://u:hidden@one/x?sslmode=always", /^must have an sslmode of libpq/],
  ["postgresql://u:hidden@one/x#more", /^must begin with/],
  ["postgresql://u:hidden@%zz/x", /^must have its hosts percent-encoded$/],
  ["postgresql://u:hidden@a b/x", /^must be a URL such as/],
  [`postgresql://u:hidden@${Array(17).fill("one").join()}/x`, /^must name from 1 to 16 hosts$/],
];

test.each(refused)("%s is refused, without its password", (url, sentence) => {
  expect(() => serversOf(url)).toThrow(sentence);
  expect(() => serversOf(url)).not.toThrow(/hidden/);
});
