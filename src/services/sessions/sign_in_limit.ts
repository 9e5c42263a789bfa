import { type Call, type Deps, keys } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { type KnownAttempt, reserveKnown } from "../passwords/known_browser.ts";
import { countFailure, standingRead, waitOf } from "../passwords/name_wait.ts";
import type { GuessOutcome } from "../passwords/password_guess.ts";

/** How many sign-ins may fail within a minute on this node; 0 sets no limit. */
export type SignInLimits = { readonly signInFailuresPerAddressPerMinute: number };

/** A sign-in that is about to be tried, with the hashes of the cookies by which its browser may be known. */
type SignIn = { readonly loginName: string; readonly browsers: readonly string[]; readonly call: Call };

/** The outcome of a sign-in, or that of one that came while unknown callers wait. */
type Outcome<T> = GuessOutcome<T> | { readonly is: "waiting"; readonly until: Date };

/** Tries a sign-in, with the attempt that was counted where its browser is known. */
type Attempt<T> = (browser: KnownAttempt | undefined) => Promise<GuessOutcome<T>>;

/**
 * Makes unknown callers wait after failed sign-ins, by login name on all nodes together, and by the network that they come from on this
 * one. A login name that nobody has is one like any other: while unknown callers wait, no password is checked, and all get one answer. A
 * known browser never waits.
 */
export function signInLimit(deps: Pick<Deps, "sql" | "clock" | "secrets" | "failureRate">, limits: SignInLimits) {
  const { sql, clock } = deps;
  const ofNetwork = deps.failureRate("sign-ins by address", limits.signInFailuresPerAddressPerMinute);
  const standingOf = standingRead(deps);

  return async <T>({ loginName, browsers, call }: SignIn, attempt: Attempt<T>): Promise<Outcome<T>> => {
    const network = call.values.get(keys.network);
    // A network that has to wait costs no question to the database, unless its browser may be known.
    if (browsers.length === 0) refuseNetwork(network);
    const standing = await standingOf(loginName, browsers, call.signal);
    const { userId, known, waitUntil } = standing;
    const browser = userId && known ? await reserveKnown(sql, { userId, hash: known }) : undefined;
    if (browser) return attempt(browser);
    refuseNetwork(network);
    if (waitUntil && waitUntil > clock()) return { is: "waiting", until: waitUntil };
    const [tried] = await Promise.allSettled([counted(network, () => attempt(undefined))]);
    const isWrong = tried.status === "fulfilled" && tried.value.is !== "right";
    // Many may have come at once, before any was counted: of those that are checked once the wait began, none is told from a wrong one.
    const until = await (isWrong ? countFailure(sql, standing, clock()) : waitOf(sql, standing.subject, clock()));
    if (until) return { is: "waiting", until };
    if (tried.status === "rejected") throw tried.reason;
    return tried.value;
  };

  function refuseNetwork(network: string | undefined): void {
    const waitMs = network === undefined ? 0 : ofNetwork.waitMs(network, performance.now());
    if (waitMs > 0) throw passwordAttempts(waitMs);
  }

  // A network counts the sign-ins under way, or as many as there is room for would be tried at once.
  async function counted<T>(network: string | undefined, attempt: () => Promise<GuessOutcome<T>>) {
    if (network === undefined) return attempt();
    ofNetwork.count(network, performance.now());
    let failed = false;
    try {
      const outcome = await attempt();
      failed = outcome.is !== "right";
      return outcome;
    } finally {
      if (!failed) ofNetwork.uncount(network, performance.now());
    }
  }
}

/** Makes the refusal of a sign-in that has to wait. */
export const passwordAttempts = (waitMs: number) =>
  refuse.because("PASSWORD_ATTEMPTS", { retrySeconds: Math.max(1, Math.ceil(waitMs / 1000)) });
