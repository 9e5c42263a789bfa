import type { Caller } from "../deps.ts";
import type { FactType } from "../events/fact.ts";

/** The caller that a token's hash finds, and when the token expires. */
export type FoundCaller = {
  readonly caller: Caller;
  readonly tokenId: string | undefined;
  readonly expires: Date | undefined;
};

/** A cache of recent callers with their memberships. */
export type CallerCache = {
  /** Returns a cached caller at once, else a promise; undefined for an unknown token. */
  readonly find: (hash: string) => Caller | Promise<Caller | undefined>;
  /** Drops the entries that a fact invalidates. */
  readonly forget: (fact: { readonly type: string; readonly stream: string }) => void;
};

/** Options of the cache. */
export type CallerCacheOptions = {
  readonly lookup: (hash: string) => Promise<FoundCaller | undefined>;
  readonly clock: () => Date;
  readonly seconds: number;
  readonly most?: number;
};

type CachedCaller = FoundCaller & { readonly until: number };
type Drops = (one: FoundCaller) => boolean;

/** Caches callers for seconds. A fact that revokes a caller drops it at once on this node, and through the log on the others. */
export function callerCache({ lookup, clock, seconds, most = 10_000 }: CallerCacheOptions): CallerCache {
  const kept = new Map<string, CachedCaller>();
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
      const revokes = revokesOf(type);
      if (revokes === nobody) return;
      const drops: Drops = (one) => revokes(one, stream);
      for (const meanwhile of underWay) meanwhile.push(drops);
      for (const [hash, one] of kept) if (drops(one)) kept.delete(hash);
    },
  };

  async function lookedUp(hash: string, now: number): Promise<Caller | undefined> {
    // A lookup that began before a revocation must not be cached after it.
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

/** Whether a fact in this stream invalidates the cached caller. */
type Revokes = (one: FoundCaller, stream: string) => boolean;

const nobody: Revokes = () => false;
const everyone: Revokes = () => true;
const user: Revokes = ({ caller }, stream) => caller.userId === stream;
const session: Revokes = ({ caller }, stream) => caller.sessionId === stream;
const token: Revokes = ({ tokenId }, stream) => tokenId === stream;

const revokesBy = {
  "instance.created": nobody,
  "organization.created": nobody,
  // A user who was just created has made no call yet; neither a phone nor an e-mail address affects permissions.
  "user.human_created": nobody,
  "user.machine_created": nobody,
  "user.phone_changed": nobody,
  "user.phone_code_requested": nobody,
  "user.phone_verified": nobody,
  "user.phone_removed": nobody,
  "user.email_changed": nobody,
  "user.email_code_requested": nobody,
  "user.email_verified": nobody,
  "user.password_code_requested": nobody,
  "user.password_changed": user,
  "user.deactivated": user,
  "user.reactivated": user,
  "user.locked": user,
  "user.unlocked": user,
  "user.deleted": user,
  "access_token.created": nobody,
  "access_token.revoked": token,
  "session.created": nobody,
  "session.ended": session,
  "project.created": nobody,
  // Memberships end with their project or project grant.
  "project.deleted": everyone,
  "project.role_added": nobody,
  "project.role_removed": nobody,
  "project_grant.created": nobody,
  "project_grant.role_removed": nobody,
  "project_grant.revoked": everyone,
  "application.oidc_created": nobody,
  "application.client_secret_rotated": nobody,
  "application.deleted": nobody,
  "user_grant.added": nobody,
  "user_grant.changed": nobody,
  "user_grant.role_removed": nobody,
  "user_grant.removed": nobody,
  // The stream of a membership does not name its user.
  "member.added": everyone,
  "member.changed": everyone,
  "member.removed": everyone,
  "policy.password_set": nobody,
  "policy.lockout_set": nobody,
} satisfies Record<FactType, Revokes>;

const revokesByType: ReadonlyMap<string, Revokes> = new Map(Object.entries(revokesBy));

// A node of a newer release may write facts of types unknown here: they could revoke any caller.
const revokesOf = (type: string): Revokes => revokesByType.get(type) ?? everyone;
