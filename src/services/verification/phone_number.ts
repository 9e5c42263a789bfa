import type { CountryCode } from "libphonenumber-js/max";
import { phonePlans } from "../../config/phone_plans.ts";
import { refuse, type Violation } from "../../errors.ts";

export type PhoneNumber = {
  /** In E.164 form. */
  readonly phone: string;
  readonly isPremiumRate: boolean;
};

/** Parses a phone number; undefined if it is invalid. A national number needs the region. */
export function phoneNumber(text: string, region: string | undefined): PhoneNumber | undefined {
  const options = { extract: false, ...(region ? { defaultCountry: region as CountryCode } : {}) };
  const number = phonePlans().parsePhoneNumberFromString(text.normalize("NFKC"), options);
  if (!number || number.ext) return undefined;
  // Only a valid number has a type, and checking both takes twice as long.
  const type = number.getType();
  return type || number.isValid() ? { phone: number.number, isPremiumRate: type === "PREMIUM_RATE" } : undefined;
}

/** Converts a phone number to E.164; undefined if it is invalid. A national number needs the region. */
export const e164 = (text: string, region: string | undefined): string | undefined => phoneNumber(text, region)?.phone;

export const notAPhone: Violation = {
  field: "phone",
  text: "PHONE_MALFORMED",
  reason: "PHONE_INVALID",
};

const premiumRate: Violation = {
  field: "phone",
  text: "PHONE_WITHOUT_SMS",
  reason: "PHONE_PREMIUM_RATE",
};

/** Finds the reasons why a code cannot be sent to a number. */
export function wrongForSms(number: PhoneNumber | undefined): Violation[] {
  if (!number) return [notAPhone];
  return number.isPremiumRate ? [premiumRate] : [];
}

/** Converts a phone number to E.164, or refuses it as PHONE_INVALID. */
export function phoneNumberOf(text: string, region: string | undefined): string {
  const phone = e164(text, region);
  if (!phone) throw refuse.because("PHONE_INVALID", { violations: [notAPhone] });
  return phone;
}
