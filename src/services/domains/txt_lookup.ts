import { promises } from "node:dns";

/** The answer of DNS about the TXT records of a name: their texts, why there are none, or why there is no answer. */
export type TxtAnswer =
  | { readonly kind: "texts"; readonly texts: readonly string[] }
  | { readonly kind: "none" | "failed"; readonly why: string };

export type LookUpTxt = (name: string) => Promise<TxtAnswer>;

export type LookupSettings = {
  /** The name servers to ask; if empty, the system's. */
  readonly domainNameServers: readonly string[];
};

/** The time limit of a lookup. */
export const lookupTimeoutMs = 5_000;

/**
 * Makes the lookup of TXT records. It asks name servers without a thread, so that those that do not answer delay nothing else, and without
 * search domains. An answer has at most 64 KiB, the limit of DNS.
 */
export function txtLookup({ domainNameServers }: LookupSettings): LookUpTxt {
  return async (name) => {
    // Cancelling a resolver ends all its queries, so each lookup has its own.
    const resolver = new promises.Resolver({ timeout: lookupTimeoutMs / 4, tries: 2 });
    if (domainNameServers.length > 0) resolver.setServers(domainNameServers);
    const timer = setTimeout(() => resolver.cancel(), lookupTimeoutMs);
    try {
      const records = await resolver.resolveTxt(name);
      return { kind: "texts", texts: records.map((parts) => parts.join("")) };
    } catch (error) {
      return withoutTexts(String((error as { code?: unknown }).code));
    } finally {
      clearTimeout(timer);
    }
  };
}

function withoutTexts(code: string): TxtAnswer {
  switch (code) {
    case "ENOTFOUND":
      return { kind: "none", why: "the name does not exist" };
    case "ENODATA":
      return { kind: "none", why: "the name has no TXT record" };
    case "ETIMEOUT":
    case "ECANCELLED":
      return { kind: "failed", why: "the name servers did not answer in time" };
    default:
      return { kind: "failed", why: `the name servers failed (${code})` };
  }
}

const mostShown = 5;
const longestShown = 100;

/** Writes an answer for people. The owner of the domain controls its text, so it is short and in visible ASCII. */
export function answerText(answer: TxtAnswer): string {
  if (answer.kind !== "texts") return answer.why;
  const { texts } = answer;
  const shown = texts.slice(0, mostShown).map((text) => `"${visible(text)}"`);
  const more = texts.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(", ");
}

function visible(text: string): string {
  const cut = text.length > longestShown ? `${text.slice(0, longestShown)}...` : text;
  return cut.replace(/[^ -~]/g, "?");
}
