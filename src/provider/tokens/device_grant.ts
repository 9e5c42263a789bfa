import type { Sql } from "../../postgres/pool/connect.ts";
import { hashToken } from "../../security/token.ts";
import { OauthError } from "../http/oauth_error.ts";
import type { Client } from "../request/client.ts";
import type { Exchange, Presented } from "./grant_exchange.ts";
import { clientAndDevice, type FoundDevice } from "./grant_read.ts";
import { type Redeemable, redemption } from "./redemption.ts";

/** The device code grant (RFC 8628, 3.4). */
export const deviceGrant: Exchange<FoundDevice> = {
  type: "urn:ietf:params:oauth:grant-type:device_code",
  parameter: "device_code",
  open(parts) {
    const { sql } = parts.deps;
    const redeem = redemption(parts);
    return {
      read: clientAndDevice(sql),
      async exchange(request, presented) {
        const { client, value: code, key } = presented;
        const found = await approved(sql, presented);
        return redeem(request, { client, found, key, of: { code, table: "device_codes" } });
      },
    };
  },
};

/** The approved code; fails if its user has not approved it. */
async function approved(sql: Sql, { client, value, found, now }: Presented<FoundDevice>): Promise<Redeemable["found"]> {
  const device = ofClient(client, found);
  const { isUsed, end, signOn } = device;
  if (end && isUsed) return { isUsed, end, signOn };
  refuseOver(device);
  if (!end) throw await waits(sql, value, now);
  return { isUsed, end, signOn };
}

function ofClient({ appId }: Client, found: FoundDevice | null | undefined): FoundDevice {
  if (!found || found.appId !== appId)
    throw new OauthError("invalid_grant", "the code is unknown, of another client, or its sign-in has ended");
  return found;
}

function refuseOver({ isDenied, isExpired }: FoundDevice): void {
  if (isDenied) throw new OauthError("access_denied", "the user cancelled, or may not use this application");
  if (isExpired) throw new OauthError("expired_token", "the code has expired: ask for a new one");
}

// RFC 8628, 3.5 adds five seconds each time. With more than a minute, a client that was hasty once would keep its user waiting.
const slowerSeconds = 5;
const slowestSeconds = 60;
// A client that keeps to the interval may arrive slightly early, because its polls take different times to arrive.
const tolerance = 0.8;

/** Records a device's poll across all nodes; returns the error: its user has not approved, or it polls too often. */
async function waits(sql: Sql, code: string, now: Date): Promise<OauthError> {
  const [before] = await sql<{ isHasty: boolean }[]>`
    with before as materialized (
      select hash, coalesce(${now}::timestamptz < polled + poll_seconds * ${tolerance}::float8 * interval '1 second', false) as hasty
      from device_codes where hash = ${hashToken(code)} and sign_on_id is null for update
    ),
    noted as (
      update device_codes d set polled = greatest(polled, ${now}), poll_seconds = case when before.hasty
        then least(d.poll_seconds + ${slowerSeconds}, greatest(d.poll_seconds, ${slowestSeconds})) else d.poll_seconds end
      from before where d.hash = before.hash
    )
    select hasty as "isHasty" from before`;
  return before?.isHasty
    ? new OauthError("slow_down", `wait ${slowerSeconds} seconds more before each question`)
    : new OauthError("authorization_pending", "the user has not approved yet");
}
