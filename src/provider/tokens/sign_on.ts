import { SignOnEnd } from "../../../gen/postern/v1/sign_on_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { factOf, first } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { asking, type Question } from "../../events/load.ts";
import type { Origin } from "../../events/log.ts";
import { isRecorded } from "../../events/overtaken.ts";
import { sharedWrite } from "../../events/shared_write.ts";
import { retry } from "../../guards/retry.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { hashToken } from "../../security/token.ts";
import { mayUse, userInForce } from "../../services/callers/in_force.ts";
import type { ResourceKey } from "../request/resource.ts";
import { mayActFor } from "./subject.ts";

/** A sign-in to an application, to be written, with its code if it has one. */
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
  /** The APIs that its access tokens are for, if the request names any. */
  readonly resources?: readonly ResourceKey[];
  /** The scopes that the user must have allowed, if consent is needed. */
  readonly allowed: readonly string[];
  readonly nonce: string | undefined;
  readonly now: Date;
  /** The origin of the request. */
  readonly origin: Origin | undefined;
  /** When the browser session ends unless it is used again. */
  readonly idleDate: Date;
  readonly expirationDate: Date;
  /** Whether the user must have given the application consent to the scope. */
  readonly isConsentNeeded: boolean;
  readonly code?: NewCode;
  /** The device to sign in, if it is still waiting. */
  readonly deviceId?: string;
};

type NewCode = {
  readonly code: string;
  readonly redirectUri: string;
  readonly challenge: string | undefined;
  /** The key that must be proven to exchange it. */
  readonly jkt: string | undefined;
  readonly expirationDate: Date;
};

/** Whether the user may use the application, has consented to what it asks for, and may sign in for the named organization. */
export type Permitted = {
  readonly permitted: boolean;
  readonly allowed: boolean;
  readonly reachable: boolean;
  /** For a device, whether it is still waiting. */
  readonly isWaiting?: boolean;
};

/**
 * Makes the write of sign-ins with their codes. Each is written if its session is in force and the user may use the application; the result
 * is undefined without the session. A sign-in without a code gets its tokens at once, and its application is told of the end of the
 * session. The write waits separately for sessions that are ending and consents being withdrawn, so that they do not delay other sign-ins.
 */
export function signOnWrite(sql: Sql) {
  const [ofBrowsers, ofDevices] = [signOnWriteOf(sql, ofBrowser), signOnWriteOf(sql, ofDevice)];
  return (signOn: NewSignOn): Promise<Permitted | undefined> =>
    (signOn.deviceId === undefined ? ofBrowsers : ofDevices)(keyOf(signOn));
}

function signOnWriteOf(sql: Sql, parts: Parts) {
  const namesOf = ({ device_id }: SignOnKey) => (device_id === undefined ? [] : [device_id]);
  const shared = sharedWrite<SignOnKey, Permitted>(sql, questionOf(parts, "skip locked"), { namesOf });
  const alone = asking<SignOnKey, Permitted>(sql, questionOf(parts, ""));
  return async (key: SignOnKey): Promise<Permitted | undefined> => {
    const found = await shared(key);
    return found?.allowed ? found : (await alone([key]))[0];
  };
}

type SignOnKey = ReturnType<typeof keyOf>;

const keyOf = ({ code, ...of }: NewSignOn) => ({
  sign_on_id: of.signOnId,
  session_id: of.sessionId,
  app_id: of.appId,
  project_id: of.projectId,
  organization: of.organizationId,
  scope: of.scope,
  for_api: of.forApi ?? false,
  resources: of.resources,
  needed: of.allowed,
  nonce: of.nonce,
  now: of.now.toISOString(),
  origin: of.origin,
  idle: of.idleDate.toISOString(),
  ends: of.expirationDate.toISOString(),
  consent: of.isConsentNeeded,
  code: code && hashToken(code.code).toString("hex"),
  redirect_uri: code?.redirectUri,
  challenge: code?.challenge,
  jkt: code?.jkt,
  code_ends: code?.expirationDate.toISOString(),
  device_id: of.deviceId,
});

/** The parts of the statement that differ for devices: if several users approve one at once, one of them succeeds. */
const ofDevice = {
  locked: `device as materialized (
  select device_id from asked join device_codes d using (device_id)
  where d.sign_on_id is null and d.denied is null and d.expiration_date > asked.now for update of d
),
`,
  isWaiting: ", exists (select from device d where d.device_id = asked.device_id) as is_waiting",
  andWaiting: " and is_waiting",
  given: `approved as (
  update device_codes d set sign_on_id = made.sign_on_id, user_code_mac = null
  from found join made using (sign_on_id) where d.device_id = found.device_id
)`,
  orWaiting: `, is_waiting as "isWaiting"`,
};

type Parts = typeof ofDevice;

const ofBrowser: Parts = {
  locked: "",
  isWaiting: "",
  andWaiting: "",
  given: `served as (
  insert into session_applications (session_id, app_id, created)
  select session_id, app_id, now from found join made using (sign_on_id) where code is null on conflict do nothing
),
coded as (
  insert into authorization_codes (hash, sign_on_id, redirect_uri, challenge, jkt, expiration_date)
  select decode(code, 'hex'), sign_on_id, redirect_uri, challenge, jkt, code_ends
  from found join made using (sign_on_id) where code is not null
)`,
  orWaiting: "",
};

// Every statement of this kind locks sessions in the order of their ids; with different orders, two statements could deadlock.
const questionOf = (
  { locked, isWaiting, andWaiting, given, orWaiting }: Parts,
  whereLocked: "skip locked" | "",
): Question => ({
  asked: `sign_on_id text, session_id text, app_id text, project_id text, organization text, scope text, for_api boolean,
    resources jsonb, needed text[], nonce text, now timestamptz, origin jsonb, idle timestamptz, ends timestamptz, consent boolean, code text, redirect_uri text, challenge text, jkt text,
    code_ends timestamptz, device_id text`,
  parts: `${locked}found as materialized (
  select asked.*, b.user_id, w.organization_id, ${mayUse} as permitted,
    (not asked.consent or c.consent_id is not null) as allowed, c.consent_id,
    ${mayActFor("w.organization_id")} as reachable${isWaiting}
  from asked join browser_sessions b on b.session_id = asked.session_id and b.expiration_date > asked.now
    join sessions s on s.session_id = b.session_id and not s.enrolment_only
    join users u on u.user_id = b.user_id and ${userInForce}
    cross join lateral (select coalesce(asked.organization, u.owner) as organization_id) w
    join projects p on p.project_id = asked.project_id
    left join lateral (
      select consent_id from consents where asked.consent and user_id = b.user_id and app_id = asked.app_id
        and scopes @> asked.needed for key share ${whereLocked}
    ) c on true
  order by b.session_id for key share of b ${whereLocked}
),
kept as (
  update browser_sessions b set idle_date = found.idle, last_used = found.now, last_used_origin = found.origin from found
  where b.session_id = found.session_id and b.idle_date < found.idle - interval '5 minutes'
),
made as (
  insert into sign_ons (sign_on_id, session_id, user_id, app_id, organization_id, scope, for_api, resources, nonce, consent_id, created,
    expiration_date)
  select sign_on_id, session_id, user_id, app_id, organization_id, scope, for_api, resources, nonce, consent_id, now, ends from found
  where permitted and allowed and reachable${andWaiting}
  returning sign_on_id
),
${given}`,
  select: `select n, permitted, allowed, reachable${orWaiting} from found`,
});

/** A sign-in to end, with the ids that its fact names. */
export type EndedSignOn = Readonly<Record<"signOnId" | "userId" | "userOwner" | "appId" | "sessionId", string>>;

/** Ends a sign-in and everything obtained through it. */
export async function endSignOn(deps: Pick<Deps, "log" | "clock">, call: Call, signOn: EndedSignOn, reason: SignOnEnd) {
  const { signOnId, userId, userOwner, appId, sessionId } = signOn;
  const at = first(userOwner, signOnId, deps.clock());
  const ended = factOf("signOn", at, { case: "ended", value: { userId, appId, sessionId, reason } });
  // The client may disconnect before.
  const lasting = { ...call, signal: new AbortController().signal };
  await retry(() => deps.log.append(lasting, [ended], true).catch(endedBefore), lasting);
}

/** If two requests end a sign-in at once, one records the fact. A write that lost a lock ended nothing. */
function endedBefore(error: unknown): void {
  if (!isRecorded(error)) throw error;
}

export { SignOnEnd };

export const signOnFolds = {
  ended: { credentials: [`delete from sign_ons s using $facts f where s.sign_on_id = f.stream`] },
} satisfies NounFolds<"signOn">;
