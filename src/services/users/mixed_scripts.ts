import { loginNameOf } from "../callers/login_name.ts";

/**
 * Whether a username may look like another because it has letters of two alphabets that look alike, such as a Cyrillic а among Latin
 * letters. What follows an `@` is judged by itself, as `иван@example.com` is a usual address, and so is each part of a domain.
 */
export function mixesScripts(username: string): boolean {
  const [, local = "", domain = ""] = /^(.*?)(?:@([^@]*))?$/s.exec(loginNameOf(username)) ?? [];
  return [local, ...domain.split(".")].some(isMixed);
}

const isMixed = (part: string): boolean => alikes.filter((script) => script.test(part)).length > 1;

// The alphabets whose letters are taken for Latin ones or for each other's (Unicode Technical Standard 39, 5.2). Others are usual beside
// Latin letters, as in Japanese.
const alikes = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Cherokee}/u,
  /\p{Script=Coptic}/u,
  /\p{Script=Lisu}/u,
];
