import { loginNameOf } from "../callers/login_name.ts";

/**
 * Whether a username may look like another because it mixes letters of two alphabets that look alike, such as a Cyrillic а among Latin
 * letters. The part after an `@` is checked separately, as `иван@example.com` is a usual address, and so is each label of a domain.
 */
export function mixesScripts(username: string): boolean {
  const [, local = "", domain = ""] = /^(.*?)(?:@([^@]*))?$/s.exec(loginNameOf(username)) ?? [];
  return [local, ...domain.split(".")].some(isMixed);
}

const isMixed = (part: string): boolean => alikes.filter((script) => script.test(part)).length > 1;

// The alphabets whose letters resemble Latin ones or each other's (Unicode Technical Standard 39, 5.2). Others are usual beside Latin
// letters, as in Japanese.
const alikes = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Cherokee}/u,
  /\p{Script=Coptic}/u,
  /\p{Script=Lisu}/u,
];
