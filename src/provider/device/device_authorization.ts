import { type Deps, keys } from "../../deps.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { hashToken, newToken } from "../../security/token.ts";
import { makeUserCode } from "../../security/user_code.ts";
import { OauthError } from "../http/oauth_error.ts";
import { bounded } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { later, type ProviderSettings } from "../http/settings.ts";
import { requestedScope } from "../request/authorization_request.ts";
import type { Client } from "../request/client.ts";
import type { Authenticate, TokenQuestion } from "../request/client_authentication.ts";
import { refuseGrantType } from "../request/grant_type.ts";
import { resourceKeys, resourcesRead } from "../request/resource.ts";
import { longestResource, resourcesNamed, type Target, targetIn } from "../request/target.ts";
import { deviceGrant } from "../tokens/device_grant.ts";
import { clientRead } from "../tokens/grant_read.ts";
import { attemptKey, minuteOf, secondsUntilNext } from "./device_attempts.ts";

/** The response of the device authorization endpoint (RFC 8628, 3.2). */
export type DeviceAuthorization = {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  readonly expires_in: number;
  readonly interval: number;
};

type Parts = {
  readonly deps: Deps;
  readonly settings: ProviderSettings;
  readonly issuer: () => string;
  readonly authenticate: Authenticate;
};

const longestScope = 1_000;
// There are 25,600,000,000 user codes, so a new one is almost never in use already.
const mostTries = 5;
/** How many unapproved codes one application may have. */
const mostWaiting = 10_000;

/** Makes the handler of the device authorization endpoint: a code for the device, and one for its user to enter. */
export function deviceAuthorizationEndpoint({ deps, settings, issuer, authenticate }: Parts) {
  const { sql, clock, ids, secrets } = deps;
  const clientOf = clientRead(sql);
  const resourcesIn = resourcesRead(sql);

  return async ({ form, proof, call, onClient }: TokenQuestion): Promise<DeviceAuthorization> => {
    const client = await authenticate(await clientOf(proof.clientId, clock()), { proof, call, onClient });
    refuseGrantType(client, deviceGrant.type);
    bounded(form, "scope", longestScope);
    bounded(form, "resource", longestResource);
    const named = resourcesNamed(form, issuer());
    const found = named.length > 0 ? await resourcesIn(client.projectId, named) : [];
    const target = targetIn(client, form, { issuer: issuer(), found });
    const { words, organizationId } = requestedScope(form, target);
    const network = call.values.get(keys.network);
    const request = { client, scope: words.join(" "), organizationId, ...target, network };
    for (let tries = 0; tries < mostTries; tries++) {
      const made = await tried(request);
      if (made) return made;
    }
    throw new Error("no user code is free");
  };

  async function tried({ client, network, ...of }: Request): Promise<DeviceAuthorization | undefined> {
    const [deviceCode, now] = [newToken("od"), clock()];
    const { code: userCode, mac } = makeUserCode(secrets.keyring);
    const found = await write(sql, {
      hash: hashToken(deviceCode),
      deviceId: ids(),
      mac,
      appId: client.appId,
      organizationId: of.organizationId ?? null,
      scope: of.scope,
      forApi: of.forApi,
      resources: of.resources.length > 0 ? JSON.stringify(resourceKeys(of.resources)) : null,
      pollSeconds: settings.devicePollSeconds,
      now,
      expirationDate: later(now, settings.deviceCodeLifetimeSeconds),
      key: attemptKey(secrets.keyring, "codes", network),
      most: network === undefined ? unlimited : settings.deviceCodesPerAddressPerMinute,
    });
    if (!found.isCounted) throw tooMany("this address", secondsUntilNext(now));
    if (found.isFull) throw tooMany("this application", secondsUntilNext(now));
    return found.isMade ? answer(deviceCode, userCode) : undefined;
  }

  function answer(deviceCode: string, userCode: string): DeviceAuthorization {
    const uri = issuer() + paths.device;
    return {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: uri,
      verification_uri_complete: `${uri}?user_code=${userCode}`,
      expires_in: settings.deviceCodeLifetimeSeconds,
      interval: settings.devicePollSeconds,
    };
  }
}

type Request = Target & {
  readonly client: Client;
  readonly scope: string;
  readonly organizationId: string | undefined;
  readonly network: string | undefined;
};

const unlimited = 2 ** 31 - 1;

const tooMany = (where: string, retrySeconds: number) =>
  new OauthError("temporarily_unavailable", `${where} asked for too many codes of devices`, retrySeconds);

type NewDeviceCode = {
  readonly hash: Buffer;
  readonly deviceId: string;
  readonly mac: Buffer;
  readonly appId: string;
  readonly organizationId: string | null;
  readonly scope: string;
  /** Whether the device asks for access to our own API. */
  readonly forApi: boolean;
  /** The APIs that the device asks for, as JSON; null without any. */
  readonly resources: string | null;
  readonly pollSeconds: number;
  readonly now: Date;
  readonly expirationDate: Date;
  /** The key under which the network's attempts are counted, and the limit per minute. */
  readonly key: Buffer;
  readonly most: number;
};

type Written = { readonly isCounted: boolean; readonly isFull: boolean; readonly isMade: boolean };

/** Writes a code if its network and application may have another one and no other device has the same user code. */
async function write(sql: Sql, code: NewDeviceCode): Promise<Written> {
  const { now, expirationDate, key, most } = code;
  const [written] = await sql<Written[]>`
    with counted as (
      insert into device_attempts as a (key, minute, attempts) values (${key}, ${minuteOf(now)}, 1)
      on conflict (key, minute) do update set attempts = a.attempts + 1 where a.attempts < ${most}
      returning key
    ),
    waiting as materialized (
      select exists (select from device_codes where app_id = ${code.appId} and sign_on_id is null
        offset ${mostWaiting - 1}) as "isFull"
    ),
    made as (
      insert into device_codes
        (hash, device_id, user_code_mac, app_id, organization_id, scope, for_api, resources, poll_seconds, created, expiration_date)
      select ${code.hash}, ${code.deviceId}, ${code.mac}, ${code.appId}, ${code.organizationId}, ${code.scope},
        ${code.forApi}::boolean, ${code.resources}::text::jsonb, ${code.pollSeconds}::integer, ${now}, ${expirationDate} from counted, waiting where not "isFull"
      on conflict (user_code_mac) do nothing returning hash
    )
    select exists (select from counted) as "isCounted", "isFull", exists (select from made) as "isMade" from waiting`;
  if (!written) throw new Error("a statement that answers one row answered none");
  return written;
}
