import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { whereRegistrationIsOpen } from "../../services/policies/registration_policy.ts";
import type { Parameters } from "../http/parameters.ts";
import { brandOf } from "../pages/brand.ts";
import { PageError } from "../pages/page_error.ts";
import type { ProvenRequest } from "./authorization_request.ts";
import { type BrandedRow, brandColumn } from "./branded_client.ts";
import { clientColumn, clientOf } from "./client.ts";
import { type DeviceRequest, deviceIn } from "./device_request.ts";
import { isRegisteredFor } from "./grant_type.ts";
import { resourcesOf } from "./resource.ts";

const longestId = 200;

/** Makes the proof of a device's request: it still waits for its user, and its application may still use the device flow. */
export function deviceProof(sql: Sql) {
  type Row = Omit<DeviceRequest, "userCode"> & BrandedRow & { readonly registersIn: string | null };
  const find = loadOne<{ id: string; now: string }, Row>(sql, {
    asked: "id text, now timestamptz",
    select: `select n, d.device_id as "deviceId", d.scope, d.organization_id as "organizationId",
      d.for_api as "forApi", ${resourcesOf("d.resources", "a.project_id")} as resources, d.expiration_date as "expirationDate", ${clientColumn}, ${brandColumn("d.organization_id")},
      ${whereRegistrationIsOpen("coalesce(d.organization_id, a.owner)")} as "registersIn"
      from asked join device_codes d on d.device_id = asked.id and ${waiting} and d.expiration_date > asked.now
      join applications a on a.app_id = d.app_id
      join projects p on p.project_id = a.project_id join organizations h on h.organization_id = a.owner`,
  });
  return async (parameters: Parameters, now: Date): Promise<ProvenRequest> => {
    const { id, userCode } = deviceIn(parameters);
    const row = id.length > longestId ? undefined : await find({ id, now: now.toISOString() });
    const { client: found, brand: lent, organizationName, registersIn: where, ...device } = row ?? over();
    const brand = brandOf(lent, organizationName);
    const client = clientOf(found);
    const registersIn = where ?? undefined;
    if (!client.active || !isRegisteredFor(client, "urn:ietf:params:oauth:grant-type:device_code")) return over();
    const target = { redirectUri: "", responseMode: "query", state: undefined } as const;
    return { ...target, client, brand, registersIn, device: { ...device, userCode } };
  };
}

const waiting = "d.sign_on_id is null and d.denied is null";

function over(): never {
  throw new PageError("device_over");
}

export const denyDevice = (sql: Sql, { deviceId }: DeviceRequest, now: Date) => sql`
  update device_codes d set denied = ${now}, user_code_mac = null
  where d.device_id = ${deviceId} and ${sql.unsafe(waiting)}`;
