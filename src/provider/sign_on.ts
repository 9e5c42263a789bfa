import { SignOnEnd } from "../../gen/postern/v1/sign_on_pb.ts";
import { type Call, type Deps, systemCall } from "../deps.ts";
import { factOf, first } from "../events/fact.ts";
import type { NounFolds } from "../events/fold.ts";
import { lostRace } from "../events/log.ts";
import type { Sql } from "../postgres/connect.ts";
import { hashToken } from "../security/token.ts";
import { mayUse, userInForce } from "../services/in_force.ts";
import { mayActFor } from "./subject.ts";

/** A sign-in to an application that is to be written, with its code where it has one. */
export type NewSignOn = {
  readonly signOnId: string;
  readonly sessionId: string;
  readonly appId: string;
  readonly projectId: string;
  /** The organization that the request names. */
  readonly organizationId: string | undefined;
  readonly scope: string;
  /** Whether its access tokens are for our own API. */
  readonly forApi?: boolean;
  readonly nonce: string | undefined;
  readonly now: Date;
  /** When the session of the browser ends unless it is used again. */
  readonly idleDate: Date;
  readonly expirationDate: Date;
  /** Whether the user must have allowed the application the scope. */
  readonly isConsentNeeded: boolean;
  readonly code?: NewCode;
  /** The device that is signed in, if it still waits. */
  readonly deviceId?: string;
};

type NewCode = {
  readonly code: string;
  readonly redirectUri: string;
  readonly challenge: string | undefined;
};

/** Whether the user may use the application, has allowed what it asks for, and may sign in for the organization that was named. */
export type Permitted = {
  readonly permitted: boolean;
  readonly allowed: boolean;
  readonly reachable: boolean;
  /** Of a device, whether it still waits. */
  readonly isWaiting?: boolean;
};

/**
 * Writes a sign-in and its code, if the session is in force and the user may use the application; undefined without the session. One
 * without a code gets its tokens at once: its application is one of those that learn of the end of the session.
 */
export async function writeSignOn(sql: Sql, signOn: NewSignOn): Promise<Permitted | undefined> {
  const { code, organizationId = null, forApi = false, now, expirationDate } = signOn;
  const device = deviceParts(sql, signOn);
  const isIssuing = code === undefined && signOn.deviceId === undefined;
  const [found] = await sql<Permitted[]>`
    with ${device.locked}found as materialized (
      select b.session_id, b.user_id, w.organization_id, ${sql.unsafe(mayUse)} as permitted,
        (not ${signOn.isConsentNeeded}::boolean or c.consent_id is not null) as allowed, c.consent_id,
        ${sql.unsafe(mayActFor("w.organization_id"))} as reachable${device.isWaiting}
      from browser_sessions b join sessions s on s.session_id = b.session_id and not s.enrolment_only
        join users u on u.user_id = b.user_id and ${sql.unsafe(userInForce)}
        cross join lateral (select coalesce(${organizationId}::text, u.owner) as organization_id) w
        join projects p on p.project_id = ${signOn.projectId}
        left join ${neededConsent(sql, signOn)}
      where b.session_id = ${signOn.sessionId} and b.expiration_date > ${now}
    ),
    kept as (
      update browser_sessions b set idle_date = ${signOn.idleDate} from found
      where b.session_id = found.session_id and b.idle_date < ${signOn.idleDate}::timestamptz - interval '5 minutes'
    ),
    made as (
      insert into sign_ons (sign_on_id, session_id, user_id, app_id, organization_id, scope, for_api, nonce, consent_id,
        created, expiration_date)
      select ${signOn.signOnId}, session_id, user_id, ${signOn.appId}, organization_id, ${signOn.scope}, ${forApi},
        ${signOn.nonce ?? null}, consent_id, ${now}, ${expirationDate} from found
      where permitted and allowed and reachable${device.andWaiting}
      returning sign_on_id, session_id, app_id
    ),
    served as (
      insert into session_applications (session_id, app_id, created)
      select session_id, app_id, ${now} from made where ${isIssuing} on conflict do nothing
    ),${device.approved}
    coded as (
      insert into authorization_codes (hash, sign_on_id, redirect_uri, challenge, expiration_date)
      select ${hashToken(code?.code ?? "")}, sign_on_id, ${code?.redirectUri ?? ""}, ${code?.challenge ?? null},
        ${expirationDate} from made where ${code !== undefined}
    )
    select permitted, allowed, reachable${device.orWaiting} from found`;
  return found;
}

/** The consent `c` of the user to the application, for all that it asks for, where one is needed. */
const neededConsent = (
  sql: Sql,
  { isConsentNeeded, appId, scope }: NewSignOn,
) => sql`consents c on ${isConsentNeeded}::boolean and c.user_id = b.user_id and c.app_id = ${appId}
          and c.scopes @> string_to_array(${scope}, ' ')`;

/** The parts of the statement that sign a device in: of users who approve it at once one does. */
function deviceParts(sql: Sql, { deviceId, now }: NewSignOn) {
  const none = sql``;
  if (deviceId === undefined)
    return { locked: none, isWaiting: none, andWaiting: none, approved: none, orWaiting: none };
  return {
    locked: sql`device as materialized (
      select from device_codes where device_id = ${deviceId} and sign_on_id is null and denied is null
        and expiration_date > ${now} for update
    ),
    `,
    isWaiting: sql`, exists (select from device) as is_waiting`,
    andWaiting: sql` and is_waiting`,
    approved: sql`
    approved as (
      update device_codes d set sign_on_id = made.sign_on_id, user_code_mac = null from made where d.device_id = ${deviceId}
    ),`,
    orWaiting: sql`, is_waiting as "isWaiting"`,
  };
}

/** A sign-in that ends, with the ids that its fact names. */
export type EndedSignOn = Readonly<Record<"signOnId" | "userId" | "userOwner" | "appId" | "sessionId", string>>;

/** Ends a sign-in, and with it everything that came of it. */
export async function endSignOn(deps: Pick<Deps, "log" | "clock">, call: Call, signOn: EndedSignOn, reason: SignOnEnd) {
  const { signOnId, userId, userOwner, appId, sessionId } = signOn;
  const at = first(userOwner, signOnId, deps.clock());
  const ended = factOf("signOn", at, { case: "ended", value: { userId, appId, sessionId, reason } });
  // The client may be gone before; of two that end it one has the fact.
  await deps.log.append({ ...systemCall(""), values: call.values }, [ended], true).catch(lostRace);
}

/** The reasons of an end. */
export { SignOnEnd };

/** The folds of facts about sign-ins to applications. The rows are credentials. */
export const signOnFolds = {
  ended: { credentials: [`delete from sign_ons s using $facts f where s.sign_on_id = f.stream`] },
} satisfies NounFolds<"signOn">;
