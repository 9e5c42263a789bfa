import type { ClaimPlace } from "../../../gen/postern/v1/application_pb.ts";
import {
  grantIsOver,
  grantShutIn,
  holdsGrant,
  mayUse,
  roleIsThere,
  userInForce,
} from "../../services/callers/in_force.ts";
import { emailIsProven, emailOfOwnDomain, qualifiedName } from "../../services/callers/login_name.ts";
import { allRolesScope } from "../../services/callers/scopes.ts";
import { type Resource, resourcesOf } from "../request/resource.ts";

// PostgreSQL does not look up `(g.owner = …) is true` in an index: with the project alone, it would read all the grants of its
// organization.
/** The SQL condition that the user `u` may sign in to the project `p` for an organization: its own, or one that has granted it a role. */
export const mayActFor = (organization: string): string =>
  `(${organization} = u.owner or ${holdsGrant(` and (g.owner = ${organization}) is true`)})`;

const heldRoles = "json_agg(distinct r.role_key order by r.role_key)";

const heldGrants = `user_grants g join user_grant_roles r on r.user_grant_id = g.user_grant_id and ${roleIsThere}
          where g.user_id = u.user_id and g.project_id = p.project_id and g.active and ${grantShutIn} = ''`;

/** The roles of the user `u` in the project `p` of the organization `h`, from grants of the organization signed in for. */
export const ownRoles = `(select ${heldRoles} as roles from ${heldGrants} and (g.owner = o.organization_id) is true) own`;

/** The roles by the organization that granted them; read only if the sign-in's scope asks for them. */
const allRoles = `(select coalesce(json_object_agg(held.owner, held.roles), '{}') as roles from (
        select g.owner, ${heldRoles} as roles from ${heldGrants}
          and '${allRolesScope}' = any(string_to_array(o.scope, ' '))
        group by g.owner) held) everybody`;

/** The end of the first grant of the user `u` in the project `p` to end, of those that meet a condition. */
export const firstEndAmong = (
  which: string,
): string => `(select floor(extract(epoch from min(g.expiration_date))) from user_grants g
        where g.user_id = u.user_id and g.project_id = p.project_id${which} and g.active and not ${grantIsOver})`;

/** The same, whichever organization gave it: any of them lets the user use the application, and act for the organization signed in for. */
export const firstEnd = firstEndAmong("");

/**
 * Whether the user `u` has a verified address, from the point of view of the application of the project `p`. The application's own
 * organization may vouch for any user's address; elsewhere only proof by one of our mails or by the domain counts.
 */
const emailVerifiedColumn = `(u.email_verified and (u.owner = p.owner or ${emailIsProven("u")} or ${emailOfOwnDomain("u")}))`;

/** The data about a user in tokens for an application. */
export type Subject = {
  readonly userId: string;
  readonly userOwner: string;
  /** The username as it is unique in the instance, since applications may have users of several organizations. */
  readonly qualifiedName: string;
  readonly givenName: string | null;
  readonly familyName: string | null;
  readonly email: string | null;
  /** Whether the address is verified as far as the application's organization can rely on it. */
  readonly emailVerified: boolean;
  readonly phone: string | null;
  readonly phoneVerified: boolean;
  /** The postal address, by the contract's field names; null without one. */
  readonly address: Readonly<Record<string, string>> | null;
  /** The preferred language, as a language tag. */
  readonly language: string | null;
  /** In seconds since 1970. */
  readonly updatedAt: number;
  /** The roles in the application's project, in the organization signed in for. */
  readonly roles: readonly string[];
  /** The roles in that project by organization; null if the sign-in's scope does not ask for them. */
  readonly allRoles: Readonly<Record<string, readonly string[]>> | null;
  /** The time at which the first of the user's grants in the project ends, in seconds since 1970; null if none does. */
  readonly grantsEnd: number | null;
};

/** A declared claim with its value, and the place where it appears. */
export type DeclaredValue = { readonly name: string; readonly value: unknown; readonly places: readonly ClaimPlace[] };

/** A sign-in in force, with its subject. */
export type SignOn = Subject & {
  readonly signOnId: string;
  readonly sessionId: string;
  readonly appId: string;
  readonly projectId: string;
  readonly organizationId: string;
  readonly scope: string;
  readonly nonce: string | null;
  /** Whether its access tokens are for our own API. */
  readonly forApi: boolean;
  /** The APIs that its access tokens are for; null if it named none, and null for each that the project no longer has. */
  readonly resources: readonly (Resource | null)[] | null;
  /** In seconds since 1970. */
  readonly authTime: number;
  readonly createdAt: number;
  readonly methods: readonly string[];
  /** The claims that its application declares; absent until their values are read. */
  readonly declared?: readonly DeclaredValue[];
};

/** A sign-in `o` as one json value, with its session `b`, user `u` and project `p`. */
export const signOnValue = `json_build_object(
      'signOnId', o.sign_on_id, 'sessionId', o.session_id, 'appId', o.app_id, 'projectId', p.project_id,
      'organizationId', o.organization_id, 'scope', o.scope, 'nonce', o.nonce, 'forApi', o.for_api,
      'resources', ${resourcesOf("o.resources", "p.project_id")},
      'authTime', floor(extract(epoch from b.auth_time)), 'createdAt', floor(extract(epoch from o.created)),
      'methods', to_json(b.methods),
      'userId', u.user_id, 'userOwner', u.owner, 'qualifiedName', ${qualifiedName("u")}, 'givenName', u.given_name,
      'familyName', u.family_name, 'email', u.email, 'emailVerified', ${emailVerifiedColumn}, 'phone', u.phone,
      'phoneVerified', u.phone_verified, 'address', u.address, 'language', u.language, 'updatedAt', floor(extract(epoch from u.changed)), 
      'roles', coalesce(own.roles, '[]'), 'allRoles',
      case when '${allRolesScope}' = any(string_to_array(o.scope, ' ')) then everybody.roles end,
      'grantsEnd', ${firstEnd})`;

/** The tables of the user of the session `b` who signs in by the sign-in `o`, with the roles. */
const subjectTables = `join users u on u.user_id = b.user_id and ${userInForce}
    cross join lateral ${ownRoles}
    cross join lateral ${allRoles}`;

/** The SQL condition that the user may use the application for the organization signed in for. */
const mayHaveTokens = `${mayUse} and ${mayActFor("o.organization_id")}`;

/**
 * The tables of a sign-in `o` that is in force at the time `asked.now`. It is not if its user may not call, or may not use the application
 * for the organization signed in for. A session that was ended early has no row any more; one that merely expired does not matter.
 */
export const signOnTables = `browser_sessions b
    ${subjectTables}
    where b.session_id = o.session_id and ${mayHaveTokens}
      and (b.expiration_date <= asked.now or exists (select from sessions s where s.session_id = b.session_id offset 0))`;

/** The same tables for a sign-in `o` that has not begun, with the session `b` that it would have. */
export const plannedSignOnTables = `${subjectTables}
    where ${mayHaveTokens}`;
