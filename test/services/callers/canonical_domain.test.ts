import { expect, test } from "vitest";
import { canonicalDomain } from "../../../src/services/callers/canonical_domain.ts";

const long = `${"a".repeat(63)}.`.repeat(3);

test.each([
  ["example.com", "example.com"],
  ["EXAMPLE.Com.", "example.com"],
  ["a-1.b.co.uk", "a-1.b.co.uk"],
  ["München.de", "xn--mnchen-3ya.de"],
  ["xn--mnchen-3ya.de", "xn--mnchen-3ya.de"],
  ["MU\u0308NCHEN.de", "xn--mnchen-3ya.de"],
  ["例え。テスト", "xn--r8jz45g.xn--zckzah"],
  ["ｅｘａｍｐｌｅ．com", "example.com"],
  // The first letter is Cyrillic.
  ["\u0430pple.com", "xn--pple-43d.com"],
  ["\u200bexample.com", undefined],
  ["com", undefined],
  ["", undefined],
  [".", undefined],
  ["example..com", undefined],
  [".example.com", undefined],
  ["-a.example", undefined],
  ["a_b.example", undefined],
  ["192.0.2.1", undefined],
  ["0x7f.1", undefined],
  ["[::1]", undefined],
  ["ex%61mple.com", undefined],
  ["example.com:80", undefined],
  ["user@example.com", undefined],
  ["https://example.com", undefined],
  ["*.example.com", undefined],
  ["xn--a.example", undefined],
  ["a.xn--example-", undefined],
  ["exa mple.com", undefined],
  [`${long}${"b".repeat(39)}.com`, undefined],
  [`${"a".repeat(64)}.com`, undefined],
  // With the name of the record, DNS has room for 234 characters.
  [`${long}${"b".repeat(38)}.com`, `${long}${"b".repeat(38)}.com`],
])("%j is the domain %j", (written, name) => {
  expect(canonicalDomain(written)).toBe(name);
});
