import type { JsonObject } from "@bufbuild/protobuf";
import { hashToken, newToken } from "../../security/token.ts";
import { knownSeconds, type ProvenBrowser, rememberBrowser } from "../../services/passwords/known_browser.ts";
import { cookieJar, mostAccounts } from "../http/cookies.ts";
import { later } from "../http/settings.ts";
import type { ProviderParts } from "../parts.ts";

/** A user who proved who they are: in a session, with a notice about a new browser, or with a mailed code. */
type Proven = { readonly userId: string } & (
  | { readonly sessionId: string; readonly notice?: JsonObject }
  | { readonly passwordSet: Date }
);

/** The tokens by which the browser is known from now on, the header of their cookie, and whether it was already known to the user. */
export type RememberedBrowser = {
  readonly known: readonly string[];
  readonly cookie: string;
  readonly wasKnown: boolean;
};

/** The form in which the cookies of known browsers are stored and looked up. */
export const hashesOfKnown = (known: readonly string[]): readonly string[] => known.map(hashOf);

/**
 * Makes browsers known after a full sign-in, or after setting a password with a mailed code. For each of its users, the browser's cookie
 * has a token of its own, the latest first.
 */
export function knownBrowsers({ deps, issuer }: Pick<ProviderParts, "deps" | "issuer">) {
  const { sql, clock } = deps;
  const jar = cookieJar(issuer);
  return async (known: readonly string[], proven: Proven): Promise<RememberedBrowser> => {
    const token = newToken("ok");
    const now = clock();
    const browser: ProvenBrowser = { ...proven, hash: hashOf(token), now, earlier: hashesOfKnown(known) };
    const { replaced, wasKnown } = await rememberBrowser(sql, browser);
    const kept = [token, ...known.filter((one) => !replaced.includes(hashOf(one)))].slice(0, mostAccounts);
    return { known: kept, cookie: jar.set("known", kept.join("."), later(now, knownSeconds)), wasKnown };
  };
}

const hashOf = (token: string): string => hashToken(token).toString("hex");
