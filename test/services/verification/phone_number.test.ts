import { expect, test } from "vitest";
import { e164, phoneNumber } from "../../../src/services/verification/phone_number.ts";

for (const [text, region, number] of [
  ["+41791234567", undefined, "+41791234567"],
  ["+41 (0)79 123-45.67", undefined, "+41791234567"],
  ["＋４１ ７９ １２３ ４５ ６７", undefined, "+41791234567"],
  ["+1 415 555 2671", "CH", "+14155552671"],
  ["+80012345678", undefined, "+80012345678"],
  ["079 123 45 67", "CH", "+41791234567"],
  ["0041 79 123 45 67", "DE", "+41791234567"],
  ["(415) 555-2671", "US", "+14155552671"],
  ["079 123 45 67", undefined, undefined],
  ["0041 79 123 45 67", undefined, undefined],
  ["41791234567", undefined, undefined],
  ["4915112345678", "CH", undefined],
  ["+4179123456", undefined, undefined],
  ["+417912345678", undefined, undefined],
  ["+999123456789", undefined, undefined],
  ["+11234567890", undefined, undefined],
  ["+41791234567 ext. 5", undefined, undefined],
  ["call +41791234567", undefined, undefined],
  ["+41791234567 and +41791234568", undefined, undefined],
  ["+", undefined, undefined],
  ["1-800-FLOWERS", "US", undefined],
  ["1".repeat(200), "CH", undefined],
] as const)
  test(`${text.slice(0, 40)}${region ? ` in ${region}` : ""} is ${number ?? "no phone number"}`, () => {
    expect(e164(text, region)).toBe(number);
  });

for (const [phone, isPremiumRate] of [
  ["+41791234567", false],
  ["+14155552671", false],
  ["+41900123456", true],
  ["+449098790123", true],
  ["+19005551234", true],
  ["+80012345678", false],
] as const)
  test(`${phone} is ${isPremiumRate ? "a" : "no"} premium-rate number`, () => {
    expect(phoneNumber(phone, undefined)).toEqual({ phone, isPremiumRate });
  });
