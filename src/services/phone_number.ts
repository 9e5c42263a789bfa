// The maximal metadata knows the ranges of every kind of number; the minimal one takes any number of a fitting length.
import { type CountryCode, parsePhoneNumberFromString } from "libphonenumber-js/max";
import { refuse, type Violation } from "../errors.ts";

/** A phone number, and whether whoever calls or texts it pays for more than the connection. */
export type PhoneNumber = {
  /** In E.164 form. */
  readonly phone: string;
  readonly isPremiumRate: boolean;
};

/** A valid phone number, or undefined when the text is none; a national number needs the region. */
export function phoneNumber(text: string, region: string | undefined): PhoneNumber | undefined {
  const options = { extract: false, ...(region ? { defaultCountry: region as CountryCode } : {}) };
  const number = parsePhoneNumberFromString(text.normalize("NFKC"), options);
  if (!number || number.ext) return undefined;
  // A number of a type is valid; asking for both takes twice the time.
  const type = number.getType();
  return type || number.isValid() ? { phone: number.number, isPremiumRate: type === "PREMIUM_RATE" } : undefined;
}

/** A phone number in E.164 form, or undefined when the text is not a valid one; a national number needs the region. */
export const e164 = (text: string, region: string | undefined): string | undefined => phoneNumber(text, region)?.phone;

/** What is wrong with a field that holds no valid phone number. */
export const notAPhone: Violation = {
  field: "phone",
  description: "is not a valid phone number with its country code",
  reason: "PHONE_INVALID",
};

/** What is wrong with a field that holds a number to send a code to, when that is a premium-rate number. */
const premiumRate: Violation = {
  field: "phone",
  description: "is a premium-rate number, which gets no SMS",
  reason: "PHONE_PREMIUM_RATE",
};

/** What is wrong with a number that a code is to be sent to. */
export function wrongForSms(number: PhoneNumber | undefined): Violation[] {
  if (!number) return [notAPhone];
  return number.isPremiumRate ? [premiumRate] : [];
}

/** The phone number in E.164 form, refused as PHONE_INVALID when it is not valid. */
export function phoneNumberOf(text: string, region: string | undefined): string {
  const phone = e164(text, region);
  if (!phone) throw refuse.because("PHONE_INVALID", { violations: [notAPhone] });
  return phone;
}
