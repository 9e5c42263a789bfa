import { expect, test } from "vitest";
import { loginNameOf } from "../../../src/services/callers/login_name.ts";

for (const [typed, compared] of [
  ["Ada", "ada"],
  ["ＡＤＡ", "ada"],
  ["STRASSE", "strasse"],
  ["Straße", "straße"],
  ["A\u030angström", "ångström"],
  ["ﬁnn", "finn"],
] as const)
  test(`${typed} is compared as ${compared}`, () => expect(loginNameOf(typed)).toBe(compared));
