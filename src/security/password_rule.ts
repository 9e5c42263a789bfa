import { type CommonPasswords, isCommonPassword } from "./common_passwords.ts";

/** The requirements of a new password. */
export type PasswordPolicy = {
  /** The minimum number of characters. */
  readonly minLength: number;
  readonly upper: boolean;
  readonly lower: boolean;
  readonly digit: boolean;
  readonly symbol: boolean;
};

/** The texts that a password is compared with: common passwords, and the user's names, login name and email address. */
export type PasswordContext = { readonly common: CommonPasswords; readonly names: readonly string[] };

/** A rule that a password can break. */
export type PasswordRule =
  | "PASSWORD_TOO_SHORT"
  | "PASSWORD_TOO_LONG"
  | "PASSWORD_NO_UPPER"
  | "PASSWORD_NO_LOWER"
  | "PASSWORD_NO_DIGIT"
  | "PASSWORD_NO_SYMBOL"
  | "PASSWORD_TOO_COMMON"
  | "PASSWORD_CONTAINS_NAME";

/** The maximum length of a password, in bytes of UTF-8. */
export const MAX_PASSWORD_BYTES = 1000;

const SHORTEST_NAME = 4;

/** Returns every rule that the password breaks, in a fixed order; none if it is acceptable. */
export function brokenPasswordRules(
  password: string,
  policy: PasswordPolicy,
  { common, names }: PasswordContext,
): PasswordRule[] {
  const typed = password.normalize("NFC");
  const tooLong = Buffer.byteLength(typed, "utf8") > MAX_PASSWORD_BYTES;
  const broken: [PasswordRule, boolean][] = [
    ["PASSWORD_TOO_SHORT", [...typed].length < policy.minLength],
    ["PASSWORD_TOO_LONG", tooLong],
    ["PASSWORD_NO_UPPER", policy.upper && !/\p{Lu}/u.test(typed)],
    ["PASSWORD_NO_LOWER", policy.lower && !/\p{Ll}/u.test(typed)],
    ["PASSWORD_NO_DIGIT", policy.digit && !/\p{Nd}/u.test(typed)],
    ["PASSWORD_NO_SYMBOL", policy.symbol && !/[^\p{L}\p{M}\p{Nd}]/u.test(typed)],
    ["PASSWORD_TOO_COMMON", !tooLong && isCommonPassword(typed, common)],
    ["PASSWORD_CONTAINS_NAME", !tooLong && containsName(typed, names)],
  ];
  return broken.filter(([, isBroken]) => isBroken).map(([rule]) => rule);
}

function containsName(password: string, names: readonly string[]): boolean {
  const folded = fold(password);
  return names.flatMap(partsOf).some((part) => [...part].length >= SHORTEST_NAME && folded.includes(part));
}

// Only the part of an address before the @ is personal; "ada.lovelace" yields three names.
function partsOf(name: string): string[] {
  const own = fold(name).split("@", 1)[0]?.trim() ?? "";
  return [own, ...own.split(/[^\p{L}\p{M}\p{Nd}]+/u)];
}

function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}
