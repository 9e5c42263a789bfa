import type { Caller } from "../deps.ts";

/** A caller as the token's hash finds it, and until when. */
export type FoundCaller = {
  readonly caller: Caller;
  readonly tokenId: string | undefined;
  readonly expires: Date | undefined;
};

/** The callers that were seen lately, with their memberships. */
export type CallerCache = {
  readonly find: (hash: string) => Promise<Caller | undefined>;
  /** Drops what a fact makes untrue. */
  readonly forget: (fact: { readonly type: string; readonly stream: string }) => void;
};

/** What the cache is made of. */
export type CallerCacheParts = {
  readonly lookup: (hash: string) => Promise<FoundCaller | undefined>;
  readonly clock: () => Date;
  readonly seconds: number;
  readonly most?: number;
};

type Kept = FoundCaller & { readonly until: number };

/** Keeps callers for seconds. What revokes a caller drops it at once on this node, and through the log on the others. */
export function callerCache({ lookup, clock, seconds, most = 10_000 }: CallerCacheParts): CallerCache {
  const kept = new Map<string, Kept>();
  let generation = 0;

  return {
    async find(hash) {
      const now = clock().getTime();
      const known = kept.get(hash);
      if (known && known.until > now) return known.caller;
      kept.delete(hash);
      // What was looked up before something was revoked must not be kept after it.
      const asked = generation;
      const found = await lookup(hash);
      if (!found || (found.expires && found.expires.getTime() <= now)) return undefined;
      if (asked === generation && seconds > 0) keep(hash, found, now);
      return found.caller;
    },

    forget({ type, stream }) {
      const drops = dropped(type, stream);
      if (!drops) return;
      generation += 1;
      for (const [hash, one] of kept) if (drops(one)) kept.delete(hash);
    },
  };

  function keep(hash: string, found: FoundCaller, now: number): void {
    if (kept.size >= most) kept.delete(kept.keys().next().value ?? "");
    kept.set(hash, {
      ...found,
      until: Math.min(now + seconds * 1000, found.expires?.getTime() ?? Number.POSITIVE_INFINITY),
    });
  }
}

/** Which callers a fact makes untrue; undefined when none. */
function dropped(type: string, stream: string): ((one: Kept) => boolean) | undefined {
  const [noun = ""] = type.split(".");
  switch (noun) {
    case "session":
      return type === "session.ended" ? ({ caller }) => caller.sessionId === stream : undefined;
    case "access_token":
      return type === "access_token.revoked" ? ({ tokenId }) => tokenId === stream : undefined;
    case "user":
      return ({ caller }) => caller.userId === stream;
    // A membership's stream does not tell whose it is, and a project or grant that goes takes memberships with it.
    case "member":
      return () => true;
    case "project":
    case "project_grant":
      return type === "project.deleted" || type === "project_grant.revoked" ? () => true : undefined;
    default:
      return undefined;
  }
}
