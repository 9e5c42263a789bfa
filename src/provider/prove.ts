import type { Sql } from "../postgres/connect.ts";
import { type ProvenRequest, responseModeIn } from "./authorization_request.ts";
import { clientRead } from "./grant_read.ts";
import { isOwnClient, ownClient, ownClientId } from "./own_client.ts";
import { PageError } from "./page_error.ts";
import type { Parameters } from "./parameters.ts";
import { blockingProblem, registeredUri } from "./redirect_uri.ts";

const longestId = 200;
const longestUri = 1_000;
const longestState = 2_000;

/** Makes the proof of client and redirect URI, before which nothing is sent anywhere. */
export function requestProof(sql: Sql) {
  const find = clientRead(sql);
  return async (parameters: Parameters, now: Date): Promise<ProvenRequest> => {
    const twice = ["client_id", "redirect_uri"].find((name) => parameters.repeated.includes(name));
    if (twice) throw new PageError("request_malformed", { problem: `${twice} is there twice` });
    const clientId = parameters.get("client_id") ?? "";
    const client =
      clientId === ownClientId ? ownClient : clientId.length > longestId ? undefined : await find(clientId, now);
    if (!client?.active) throw new PageError("client_unknown");
    const redirectUri = parameters.get("redirect_uri") ?? "";
    const registered = redirectUri.length > longestUri ? undefined : registeredUri(client.oidc, redirectUri);
    if (!redirectUri || registered === undefined) throw new PageError("redirect_uri_unknown");
    const problem = isOwnClient(client) ? undefined : blockingProblem(client.oidc, registered);
    if (problem) throw new PageError(problem, { uris: redirectUri });
    const state = parameters.get("state");
    const isKept = state !== undefined && state.length <= longestState;
    return { client, redirectUri, responseMode: responseModeIn(parameters), state: isKept ? state : undefined };
  };
}
