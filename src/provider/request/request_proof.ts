import type { Sql } from "../../postgres/pool/connect.ts";
import { MalformedRequest } from "../http/oauth_error.ts";
import { type Parameters, repeated } from "../http/parameters.ts";
import { brandsRead } from "../pages/brand_read.ts";
import { PageError } from "../pages/page_error.ts";
import { organizationNamed, type ProvenRequest, responseModeIn } from "./authorization_request.ts";
import { type BrandedClient, brandedClientRead, type ClientOf } from "./branded_client.ts";
import type { Client } from "./client.ts";
import type { ReadDocument } from "./client_document.ts";
import { type ConsoleServing, consoleClient, consoleClientId, consoleIssuerOf } from "./console_client.ts";
import { deviceProof } from "./device_proof.ts";
import { isDeviceRequest } from "./device_request.ts";
import { documentClientRead, documentIsClient } from "./document_client.ts";
import { type DocumentSettings, isAdmitted } from "./document_id.ts";
import { isBuiltIn, ownClient, ownClientId } from "./own_client.ts";
import { blockingProblem, registeredUri } from "./redirect_uri.ts";
import { withRequestObject } from "./request_object.ts";
import { resourcesRead } from "./resource.ts";
import { resourcesNamed } from "./target.ts";

const longestId = 200;
const longestUri = 1_000;
const longestState = 2_000;

type ProofParts = ConsoleServing & {
  readonly deps: { readonly sql: Sql };
  readonly settings: DocumentSettings;
  readonly readDocument: ReadDocument;
};

/** Makes the proof of client and redirect URI, without which nothing is sent anywhere; for a device, the proof of its code. */
export function requestProof(parts: ProofParts) {
  const { sql } = parts.deps;
  const consoleIssuer = consoleIssuerOf(parts);
  const find = brandedClientRead(sql);
  const brands = brandsRead(sql);
  const proveDevice = deviceProof(sql);
  const resourcesIn = resourcesRead(sql);
  const documentClient = documentClientRead(sql);
  const isClient = documentIsClient(sql);
  return async (parameters: Parameters, now: Date, network: string | undefined): Promise<ProvenRequest> => {
    if (isDeviceRequest(parameters)) return proveDevice(parameters, now);
    const twice = ["client_id", "redirect_uri"].find((name) => parameters.repeated.includes(name));
    if (twice) throw repeated(twice);
    const clientId = parameters.get("client_id") ?? "";
    const redirectUri = parameters.get("redirect_uri") ?? "";
    const of = { clientId, organizationId: organizationNamed(parameters), now };
    const { client, brand, registersIn } = isAdmitted(parts.settings, clientId)
      ? await withDocument(of, { parameters, redirectUri, network })
      : ((await found(of)) ?? unknown());
    if (!client.active) unknown();
    const registered = redirectUri.length > longestUri ? undefined : registeredUri(client.oidc, redirectUri);
    if (!redirectUri || registered === undefined) throw new PageError("redirect_uri_unknown");
    const problem = isBuiltIn(client) ? undefined : blockingProblem(client.oidc, registered);
    if (problem) throw new PageError(problem, { uris: redirectUri });
    const answerable = withRequestObject(parameters);
    const state = answerable.get("state");
    const isKept = state !== undefined && state.length <= longestState;
    const responseMode = responseModeIn(answerable);
    const named = await resourcesOfClient(client, resourcesNamed(parameters, parts.issuer()));
    return { client, redirectUri, responseMode, state: isKept ? state : undefined, brand, registersIn, named };
  };

  async function resourcesOfClient({ projectId }: Client, uris: readonly string[]) {
    return uris.length === 0 ? [] : resourcesIn(projectId, uris);
  }

  /** The client that a document describes, for the API whose tokens it wants. */
  async function withDocument({ clientId: url, organizationId }: ClientOf, { parameters, redirectUri, network }: Sent) {
    const [resource] = resourcesNamed(parameters, parts.issuer());
    if (resource === undefined) throw new MalformedRequest({ key: "resource_missing" });
    const document = await parts.readDocument(url, network, () => isClient(url, resource));
    const client = await documentClient({ url, document, redirectUri, resource, organizationId });
    if (!client) throw new MalformedRequest({ key: "resource_closed" });
    return client;
  }

  async function found(of: ClientOf): Promise<BrandedClient | undefined> {
    const { clientId, organizationId } = of;
    if (clientId === ownClientId) return { client: ownClient, brand: await brands.ofNamed(organizationId) };
    const issuer = clientId === consoleClientId ? consoleIssuer() : undefined;
    if (issuer !== undefined) return { client: consoleClient(issuer), brand: await brands.ofNamed(organizationId) };
    return of.clientId.length > longestId ? undefined : find(of);
  }
}

/** The parameters that a client with a document sent, and the network that it came from. */
type Sent = { readonly parameters: Parameters; readonly redirectUri: string; readonly network: string | undefined };

function unknown(): never {
  throw new PageError("client_unknown");
}
