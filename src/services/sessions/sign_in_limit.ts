import { PasswordRefusal } from "../../../gen/postern/v1/attempt_pb.ts";
import { type Call, type Deps, keys } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import type { TypedName } from "../callers/login_name.ts";
import { type KnownAttempt, reserveKnown } from "../passwords/known_browser.ts";
import { countFailure, type Standing, standingRead, waitOf } from "../passwords/name_wait.ts";
import type { GuessOutcome } from "../passwords/password_guess.ts";
import type { SignInCounts } from "./sign_in_counts.ts";

/** The maximum number of failed sign-ins per minute on this node; 0 sets no limit. */
export type SignInLimits = { readonly signInFailuresPerAddressPerMinute: number };

/** A sign-in to try, with the hashes of the cookies by which its browser may be known. */
type SignIn = TypedName & { readonly browsers: readonly string[]; readonly call: Call };

/** The outcome of a sign-in, or of one refused while unknown callers wait. */
type Outcome<T> = GuessOutcome<T> | { readonly is: "waiting"; readonly until: Date };

/** The only user that a sign-in tries, if it finds one, and the counted attempt if its browser is known. */
export type FoundUser = Pick<Standing, "userId" | "owner"> & { readonly browser: KnownAttempt | undefined };

type Attempt<T> = (found: FoundUser) => Promise<GuessOutcome<T>>;

type LimitDeps = Pick<Deps, "sql" | "clock" | "secrets" | "failureRate" | "noteAttempt">;

/**
 * Makes unknown callers wait after failed sign-ins: by login name across all nodes, and by network on this one. A login name that nobody
 * has is treated the same: while unknown callers wait, no password is checked and all get the same response. A known browser never waits.
 */
export function signInLimit(deps: LimitDeps, { counts, ...limits }: SignInLimits & { readonly counts: SignInCounts }) {
  const { sql, clock, noteAttempt } = deps;
  const ofNetwork = deps.failureRate("sign-ins by address", limits.signInFailuresPerAddressPerMinute);
  const standingOf = standingRead(deps);

  return async <T>({ loginName, organizationId, browsers, call }: SignIn, attempt: Attempt<T>): Promise<Outcome<T>> => {
    const network = call.values.get(keys.network);
    // A network that has to wait causes no query, unless its browser may be known.
    if (browsers.length === 0) refuseNetwork(network);
    const standing = await standingOf({ loginName, organizationId }, browsers, call.signal);
    const outcome = await tried(standing, attempt, network);
    note(outcome.is, standing, call);
    return outcome;
  };

  async function tried<T>(standing: Standing, attempt: Attempt<T>, network: string | undefined): Promise<Outcome<T>> {
    const { userId, known, waitUntil } = standing;
    const browser = userId && known ? await reserveKnown(sql, { userId, hash: known }) : undefined;
    if (browser) return attempt({ ...standing, browser });
    refuseNetwork(network);
    if (waitUntil && waitUntil > clock()) return { is: "waiting", until: waitUntil };
    const [guess] = await Promise.allSettled([counted(network, () => attempt({ ...standing, browser }))]);
    const isWrong = guess.status === "fulfilled" && guess.value.is !== "right";
    // Many may arrive at once, before any is counted. Once the wait has begun, those checked get the same response as wrong ones.
    const until = await (isWrong ? countFailure(sql, standing, clock()) : waitOf(sql, standing.subject, clock()));
    if (until) return { is: "waiting", until };
    if (guess.status === "rejected") throw guess.reason;
    return guess.value;
  }

  function note(is: Outcome<unknown>["is"], { subject, owner, userId }: Standing, call: Call): void {
    if (is === "right") {
      counts.right();
      return;
    }
    counts.refused(subject, clock());
    const reason = is === "wrong" ? PasswordRefusal.WRONG : PasswordRefusal.WAIT;
    const about = userId && owner ? { owner, id: userId } : undefined;
    noteAttempt({ case: "passwordRefused", value: { reason } }, about, call);
  }

  function refuseNetwork(network: string | undefined): void {
    const waitMs = network === undefined ? 0 : ofNetwork.waitMs(network, performance.now());
    if (waitMs > 0) throw passwordAttempts(waitMs);
  }

  // A network's pending sign-ins count too; otherwise as many could be tried at once as there is room for.
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

/** Makes the error of a sign-in that has to wait. */
export const passwordAttempts = (waitMs: number) =>
  refuse.because("PASSWORD_ATTEMPTS", { retrySeconds: Math.max(1, Math.ceil(waitMs / 1000)) });
