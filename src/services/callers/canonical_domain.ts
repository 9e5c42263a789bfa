import { domainToASCII, domainToUnicode } from "node:url";

/** The name of the TXT record below a domain. */
export const challengeLabel = "_postern-challenge";

// DNS allows 253 characters for the name of the record.
const longest = 253 - `${challengeLabel}.`.length;

const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
// Top-level domains begin with a letter, which addresses do not.
const pattern = new RegExp(`^(?:${label}\\.)+(?=[a-z])${label}$`);

// Other characters that the host of a URL may contain, such as `%` or `[`, have a special meaning.
const written = /^[\p{L}\p{M}\p{N}.\u3002\uff0e\uff61-]+$/u;

/** Returns a domain in lower case and ASCII; undefined for an invalid one. Unicode is converted as in browsers (UTS 46). */
export function canonicalDomain(text: string): string | undefined {
  const name = written.test(text) ? domainToASCII(text).replace(/\.$/, "") : "";
  return name.length <= longest && pattern.test(name) && isDecodable(name) ? name : undefined;
}

/** Whether each label that begins with `xn--` represents one in Unicode; Node leaves the others as they are. */
const isDecodable = (name: string): boolean => !/(?:^|\.)xn--/.test(domainToUnicode(name));
