import { expect, test } from "vitest";
import { unicodeDomain } from "../../../src/services/domains/domain_name.ts";

test("a domain is shown in Unicode beside its name if it differs", () => {
  expect(unicodeDomain("xn--mnchen-3ya.de")).toBe("münchen.de");
  expect(unicodeDomain("example.com")).toBeUndefined();
});
