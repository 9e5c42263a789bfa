import type { CountryCode } from "libphonenumber-js/max";
import { phonePlans } from "../../config/phone_plans.ts";
import { refuse, type Violation } from "../../errors.ts";

/** A phone number, and whether it is a premium-rate number. */
export type PhoneNumber = {
  /** In E.164 form. */
  readonly phone: string;
  readonly isPremiumRate: boolean;
};

/** Parses a phone number; undefined if it is not valid. A national number needs the region. */
export function phoneNumber(text: string, region: string | undefined): PhoneNumber | undefined {
  const options = { extract: false, ...(region ? { defaultCountry: region as CountryCode } : {}) };
  const number = phonePlans().parsePhoneNumberFromString(text.normalize("NFKC"), options);
  if (!number || number.ext) return undefined;
  // A number that has a type is valid; checking both takes twice the time.
  const type = number.getType();
  return type || number.isValid() ? { phone: number.number, isPremiumRate: type === "PREMIUM_RATE" } : undefined;
}

/** Converts a phone number to E.164 form; undefined if it is not valid. A national number needs the region. */
export const e164 = (text: string, region: string | undefined): string | undefined => phoneNumber(text, region)?.phone;

/** The violation of an invalid phone number. */
export const notAPhone: Violation = {
  field: "phone",
  text: "PHONE_MALFORMED",
  reason: "PHONE_INVALID",
};

/** The violation of a premium-rate number that a code is to be sent to. */
const premiumRate: Violation = {
  field: "phone",
  text: "PHONE_WITHOUT_SMS",
  reason: "PHONE_PREMIUM_RATE",
};

/** Finds the violation of a number that a code is to be sent to. */
export function wrongForSms(number: PhoneNumber | undefined): Violation[] {
  if (!number) return [notAPhone];
  return number.isPremiumRate ? [premiumRate] : [];
}

/** Converts a phone number to E.164 form, or refuses it as PHONE_INVALID. */
export function phoneNumberOf(text: string, region: string | undefined): string {
  const phone = e164(text, region);
  if (!phone) throw refuse.because("PHONE_INVALID", { violations: [notAPhone] });
  return phone;
}
