import type { Call, Caller, Membership } from "../deps.ts";
import type { FactType } from "../events/fact.ts";
import { type Ended, everything, type Happened, type OpenFactCache } from "../events/fact_cache.ts";

/** The caller found by a token's hash, and when the token expires. */
export type FoundCaller = {
  readonly caller: Caller;
  readonly expires: Date | undefined;
};

/** A cache of recent callers with their memberships. */
export type CallerCache = {
  /** A cached caller; undefined if the token has to be looked up. */
  readonly cached: (hash: string) => Caller | undefined;
  /** Whether a token was found by its latest lookup, at least for the tokens found most recently. */
  readonly wasFound: (hash: string) => boolean;
  /** A cached caller immediately, otherwise a promise, which yields undefined for an unknown token. */
  readonly find: (hash: string, call?: Call) => Caller | Promise<Caller | undefined>;
};

export type CallerCacheOptions = {
  readonly lookup: (hash: string, call?: Call) => Promise<FoundCaller | undefined>;
  readonly factCache: OpenFactCache;
  readonly clock: () => Date;
  readonly most?: number;
};

/** Caches callers until a fact revokes them. Callers who can be revoked without a fact are looked up each time. */
export function callerCache({ lookup, factCache, clock, most = 10_000 }: CallerCacheOptions): CallerCache {
  const callers = factCache<FoundCaller>({ endedBy, idsOf, endOf, most });
  // The tokens found most recently, whether or not they are still cached.
  const found = new Set<string>();

  return {
    cached,
    wasFound: (hash) => found.has(hash),
    find: (hash, call) => cached(hash) ?? lookedUp(hash, call),
  };

  function cached(hash: string): Caller | undefined {
    return callers.cached(hash)?.caller;
  }

  async function lookedUp(hash: string, call: Call | undefined): Promise<Caller | undefined> {
    const now = clock().getTime();
    const one = await callers.look(hash, () => lookup(hash, call));
    found.delete(hash);
    if (!one || (one.expires && one.expires.getTime() <= now)) return undefined;
    if (found.size >= most) found.delete(found.values().next().value ?? "");
    found.add(hash);
    return one.caller;
  }
}

// A token of the console ends without a fact if its code is presented again, or if its session gets too many.
const endOf = ({ caller, expires }: FoundCaller): number =>
  caller.consoleSessionId === undefined ? (expires?.getTime() ?? Number.POSITIVE_INFINITY) : 0;

/** The ids of the objects whose end or change can revoke a caller. */
const idsOf = ({ caller }: FoundCaller): readonly string[] => {
  const { userId, sessionId, tokenId, machineCredentialId, application, memberships } = caller;
  const { signOnId, appId, projectId, sessionId: ofBrowser } = application ?? {};
  const ids = [userId, sessionId, tokenId, machineCredentialId, signOnId, appId, projectId, ofBrowser];
  const places = memberships.flatMap(({ scope, id, project }) => (isInProject(scope) ? [id, project] : []));
  return [...ids, ...places, application && byApplication].filter((id) => id !== undefined);
};

const isInProject = (scope: Membership["scope"]): boolean => scope === "project" || scope === "project_grant";

// Stands for the grants by which a user may use an application, which a caller does not name. No id has this form.
const byApplication = "by application";

function endedBy({ type, stream, aboutUserId }: Happened): Ended {
  switch (revokedBy(type)) {
    case those:
      return stream;
    case grantees:
      return [stream, byApplication];
    case theUser:
      return aboutUserId ?? everything;
    case everyone:
      return everything;
    case nobody:
      return undefined;
  }
}

/**
 * The callers that a fact revokes: those who call by the object that it is about, or have a role on it; if it is a grant, also those who
 * call by an application; the user whom it concerns; everyone; or nobody.
 */
type Revoked = "those" | "grantees" | "theUser" | "everyone" | "nobody";

const [those, grantees, theUser, everyone, nobody] = ["those", "grantees", "theUser", "everyone", "nobody"] as const;

const revokedByFact = {
  "instance.created": nobody,
  "organization.created": nobody,
  // Users of many organizations may have roles in it.
  "organization.deactivated": everyone,
  "organization.reactivated": everyone,
  "organization.deleted": everyone,
  "organization.purged": nobody,
  "organization.changed": nobody,
  // A user who was just created has not called yet, and neither phone nor email address affects permissions.
  "user.human_created": nobody,
  "user.machine_created": nobody,
  "user.phone_changed": nobody,
  "user.phone_code_requested": nobody,
  "user.phone_verified": nobody,
  "user.phone_removed": nobody,
  "user.human_changed": nobody,
  "user.machine_changed": nobody,
  "user.username_changed": nobody,
  "user.email_changed": nobody,
  "user.email_code_requested": nobody,
  "user.email_verified": nobody,
  "user.password_code_requested": nobody,
  "user.password_removed": those,
  "user.password_changed": those,
  "user.deactivated": those,
  "user.reactivated": those,
  "user.locked": those,
  "user.unlocked": those,
  "user.erasure_scheduled": those,
  // Their sessions and access tokens have ended, and erased users have none.
  "user.restored": nobody,
  "user.erased": nobody,
  "user.email_restored": those,
  "user.deleted": those,
  "user.roles_ended": those,
  "user.roles_allowed": nobody,
  "user.metadata_set": nobody,
  "user.client_id_assigned": nobody,
  // Concerns only tokens that are not for our API.
  "user.delegation_set": nobody,
  "access_token.created": nobody,
  "access_token.maker_changed": nobody,
  "access_token.revoked": those,
  "machine_credential.created": nobody,
  // A cached caller knows only the earlier end.
  "machine_credential.replaced": those,
  "machine_credential.removed": those,
  "machine_credential.token_revoked": those,
  "session.created": nobody,
  "session.ended": those,
  "session.unrestricted": those,
  "signing_key.added": nobody,
  "consent.given": nobody,
  // The sign-ins that it ends have facts of their own.
  "consent.withdrawn": nobody,
  "sign_on.ended": those,
  "project.created": nobody,
  // Memberships end with their project or project grant.
  "project.deleted": those,
  "organization.branding_set": nobody,
  "organization.branding_reset": nobody,
  "organization.metadata_set": nobody,
  // Its members keep their roles, so that they can reactivate it; the tokens of its applications stop working.
  "project.deactivated": those,
  "project.reactivated": nobody,
  "project.changed": those,
  "project.role_added": nobody,
  "project.role_changed": nobody,
  "project.role_removed": nobody,
  "project_grant.created": nobody,
  "project_grant.changed": nobody,
  "project_grant.role_removed": nobody,
  "project_grant.revoked": grantees,
  "application.oidc_created": nobody,
  "application.oidc_changed": those,
  "application.api_created": nobody,
  "application.api_changed": nobody,
  "application.document_created": nobody,
  "application.key_added": nobody,
  "application.key_removed": nobody,
  "application.client_secret_rotated": nobody,
  "application.deleted": those,
  "application.deactivated": those,
  "application.reactivated": nobody,
  "user_grant.added": nobody,
  "user_grant.changed": nobody,
  "user_grant.deactivated": nobody,
  "user_grant.reactivated": nobody,
  // A cached caller knows only the earlier end.
  "user_grant.expiration_changed": grantees,
  "user_grant.role_removed": nobody,
  "user_grant.removed": nobody,
  "member.added": theUser,
  "member.changed": theUser,
  "member.removed": theUser,
  "policy.password_set": nobody,
  "policy.lockout_set": nobody,
  "policy.password_reset": nobody,
  "policy.lockout_reset": nobody,
  "policy.factor_set": nobody,
  "policy.factor_reset": nobody,
  "policy.privacy_set": nobody,
  "policy.privacy_reset": nobody,
  "policy.retention_set": nobody,
  "policy.retention_reset": nobody,
  "policy.registration_set": nobody,
  "policy.registration_reset": nobody,
  "policy.sign_in_set": nobody,
  "policy.sign_in_reset": nobody,
  "factor.enrolment_started": nobody,
  "factor.totp_added": nobody,
  "factor.passkey_added": nobody,
  "factor.recovery_codes_generated": nobody,
  "factor.renamed": nobody,
  "factor.used": nobody,
  "factor.refused": nobody,
  "factor.removed": nobody,
  "attempt.password_refused": nobody,
  "attempt.factor_refused": nobody,
  "attempt.code_refused": nobody,
  "attempt.password_change_refused": nobody,
  "attempt.permission_refused": nobody,
  "attempt.password_reset_requested": nobody,
  "attempt.registration_requested": nobody,
  "attempt.sign_in_code_requested": nobody,
  "attempt.more": nobody,
  "subscription.created": nobody,
  "subscription.changed": nobody,
  "subscription.paused": nobody,
  "subscription.resumed": nobody,
  "subscription.replayed": nobody,
  "subscription.secret_rotated": nobody,
  "subscription.deleted": nobody,
  "domain.added": nobody,
  "domain.verified": nobody,
  "domain.record_missed": nobody,
  "domain.lost": nobody,
  "domain.removed": nobody,
  "invitation.created": nobody,
  "invitation.resent": nobody,
  "invitation.withdrawn": nobody,
  "invitation.accepted": nobody,
  "invitation.declined": nobody,
  "invitation.expired": nobody,
  "invitation.ended": nobody,
  "registration.created": nobody,
  "registration.resent": nobody,
  "registration.completed": nobody,
  "registration.expired": nobody,
  "delivery.retried": nobody,
  "delegation.begun": nobody,
} satisfies Record<FactType, Revoked>;

const revokedByType: ReadonlyMap<string, Revoked> = new Map(Object.entries(revokedByFact));

// A node of a newer release may write facts of types unknown here, which could revoke any caller.
const revokedBy = (type: string): Revoked => revokedByType.get(type) ?? everyone;
