import type { Sql } from "../../postgres/pool/connect.ts";
import type { Parameters } from "../http/parameters.ts";
import { brandsRead } from "../pages/brand_read.ts";
import { PageError } from "../pages/page_error.ts";
import { organizationNamed, type ProvenRequest, responseModeIn } from "./authorization_request.ts";
import { type BrandedClient, brandedClientRead, type ClientOf } from "./branded_client.ts";
import { deviceProof } from "./device_proof.ts";
import { isDeviceRequest } from "./device_request.ts";
import { isOwnClient, ownClient, ownClientId } from "./own_client.ts";
import { blockingProblem, registeredUri } from "./redirect_uri.ts";
import { withRequestObject } from "./request_object.ts";

const longestId = 200;
const longestUri = 1_000;
const longestState = 2_000;

/** Makes the proof of client and redirect URI, without which nothing is sent anywhere; for a device, the proof of its code. */
export function requestProof(sql: Sql) {
  const find = brandedClientRead(sql);
  const brands = brandsRead(sql);
  const proveDevice = deviceProof(sql);
  return async (parameters: Parameters, now: Date): Promise<ProvenRequest> => {
    if (isDeviceRequest(parameters)) return proveDevice(parameters, now);
    const twice = ["client_id", "redirect_uri"].find((name) => parameters.repeated.includes(name));
    if (twice) throw new PageError("request_malformed", { problem: `${twice} is there twice` });
    const clientId = parameters.get("client_id") ?? "";
    const of = { clientId, organizationId: organizationNamed(parameters), now };
    const { client, brand, registersIn } = (await found(of)) ?? unknown();
    if (!client.active) unknown();
    const redirectUri = parameters.get("redirect_uri") ?? "";
    const registered = redirectUri.length > longestUri ? undefined : registeredUri(client.oidc, redirectUri);
    if (!redirectUri || registered === undefined) throw new PageError("redirect_uri_unknown");
    const problem = isOwnClient(client) ? undefined : blockingProblem(client.oidc, registered);
    if (problem) throw new PageError(problem, { uris: redirectUri });
    const answerable = withRequestObject(parameters);
    const state = answerable.get("state");
    const isKept = state !== undefined && state.length <= longestState;
    const responseMode = responseModeIn(answerable);
    return { client, redirectUri, responseMode, state: isKept ? state : undefined, brand, registersIn };
  };

  async function found(of: ClientOf): Promise<BrandedClient | undefined> {
    const { clientId, organizationId } = of;
    if (clientId === ownClientId) return { client: ownClient, brand: await brands.ofNamed(organizationId) };
    return of.clientId.length > longestId ? undefined : find(of);
  }
}

function unknown(): never {
  throw new PageError("client_unknown");
}
