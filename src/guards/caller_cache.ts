import type { Caller } from "../deps.ts";

/** A caller as the token's hash finds it, and until when. */
export type FoundCaller = {
  readonly caller: Caller;
  readonly tokenId: string | undefined;
  readonly expires: Date | undefined;
};

/** The callers that were seen lately, with their memberships. */
export type CallerCache = {
  /** The caller at once when it is kept, else a promise; undefined for a token that is nobody's. */
  readonly find: (hash: string) => Caller | Promise<Caller | undefined>;
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
type Drops = (one: FoundCaller) => boolean;

/** Keeps callers for seconds. What revokes a caller drops it at once on this node, and through the log on the others. */
export function callerCache({ lookup, clock, seconds, most = 10_000 }: CallerCacheParts): CallerCache {
  const kept = new Map<string, Kept>();
  const underWay = new Set<Drops[]>();

  return {
    find(hash) {
      const now = clock().getTime();
      const known = kept.get(hash);
      if (known && known.until > now) return known.caller;
      kept.delete(hash);
      return lookedUp(hash, now);
    },

    forget({ type, stream }) {
      const drops = dropped(type, stream);
      if (!drops) return;
      for (const meanwhile of underWay) meanwhile.push(drops);
      for (const [hash, one] of kept) if (drops(one)) kept.delete(hash);
    },
  };

  async function lookedUp(hash: string, now: number): Promise<Caller | undefined> {
    // What was looked up before something was revoked must not be kept after it.
    const meanwhile: Drops[] = [];
    underWay.add(meanwhile);
    const found = await lookup(hash).finally(() => underWay.delete(meanwhile));
    if (!found || (found.expires && found.expires.getTime() <= now)) return undefined;
    if (seconds > 0 && !meanwhile.some((drops) => drops(found))) keep(hash, found, now);
    return found.caller;
  }

  function keep(hash: string, found: FoundCaller, now: number): void {
    if (kept.size >= most) kept.delete(kept.keys().next().value ?? "");
    kept.set(hash, {
      ...found,
      until: Math.min(now + seconds * 1000, found.expires?.getTime() ?? Number.POSITIVE_INFINITY),
    });
  }
}

/** Which callers a fact makes untrue; undefined when none. */
function dropped(type: string, stream: string): Drops | undefined {
  const [noun = ""] = type.split(".");
  switch (noun) {
    case "session":
      return type === "session.ended" ? ({ caller }) => caller.sessionId === stream : undefined;
    case "access_token":
      return type === "access_token.revoked" ? ({ tokenId }) => tokenId === stream : undefined;
    case "user":
      return untelling.test(type) ? undefined : ({ caller }) => caller.userId === stream;
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

// Whoever was just created is no caller yet, and a phone says nothing about what its user may.
const untelling = /^user\.(human_created|machine_created|phone_\w+)$/;
