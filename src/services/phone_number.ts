// The maximal metadata knows the ranges of every kind of number; the minimal one takes any number of a fitting length.
import { type CountryCode, parsePhoneNumberFromString } from "libphonenumber-js/max";
import { refuse, type Violation } from "../errors.ts";

/** A phone number in E.164 form, or undefined when the text is not a valid one; a national number needs the region. */
export function e164(text: string, region: string | undefined): string | undefined {
  const options = { extract: false, ...(region ? { defaultCountry: region as CountryCode } : {}) };
  const number = parsePhoneNumberFromString(text.normalize("NFKC"), options);
  return number?.isValid() && !number.ext ? number.number : undefined;
}

/** What is wrong with a field that holds no valid phone number. */
export const notAPhone: Violation = {
  field: "phone",
  description: "is not a valid phone number with its country code",
  reason: "PHONE_INVALID",
};

/** The phone number in E.164 form, refused as PHONE_INVALID when it is not valid. */
export function phoneNumberOf(text: string, region: string | undefined): string {
  const phone = e164(text, region);
  if (!phone) throw refuse.because("PHONE_INVALID", { violations: [notAPhone] });
  return phone;
}
