import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import type { Call } from "../../deps.ts";
import { OauthError, TokenMissing } from "../http/oauth_error.ts";
import { formMaxBytes } from "../http/parameters.ts";
import { isOutage, noteFailure } from "../pages/request_notes.ts";
import type { Client } from "./client.ts";
import { allowedOrigin, forOrigin, type IsRegistered, mayReadRefusal, preflightResponse } from "./cross_origin.ts";
import { dpopAlgorithms } from "./dpop_proof.ts";

/** The response of an endpoint: JSON, or nothing. */
export type Answer = { readonly status?: number; readonly body?: object };

/** The dependencies that all endpoints share. */
export type EndpointParts = {
  readonly isRegistered: IsRegistered;
};

/** An endpoint that applications call; `handle` reports the client of the request as soon as it is known. */
export type Endpoint = {
  readonly path: string;
  readonly methods: readonly ("GET" | "POST")[];
  /** How the endpoint authenticates clients and challenges those that fail: with Bearer, also for tokens bound to a key. */
  readonly scheme: "Basic" | "Bearer";
  readonly handle: (request: HttpRequest, onClient: OnClient) => Promise<Answer>;
};

/** Makes the route of an endpoint, with OAuth errors and cross-origin headers. */
export const endpointRoute = ({ isRegistered }: EndpointParts, endpoint: Endpoint): HttpRoute => ({
  path: endpoint.path,
  methods: [...endpoint.methods, "OPTIONS"],
  bodyMaxBytes: formMaxBytes,
  async handle(request) {
    const { origin } = request.headers;
    if (request.method === "OPTIONS") return preflightResponse((await isRegistered(origin)) ? origin : undefined);
    let client: Client | undefined;
    const answer = await answered(endpoint, request, (found) => {
      client = found;
    });
    return { ...answer, headers: { ...answer.headers, ...forOrigin(await readerOf(origin, client, isRegistered)) } };
  },
});

/** The origin of a request, if its pages may read the response: an origin of the client, or of any client if an error has none. */
async function readerOf(origin: string | undefined, client: Client | undefined, isRegistered: IsRegistered) {
  if (client) return allowedOrigin(origin, client);
  return (await mayReadRefusal(isRegistered, origin)) ? origin : undefined;
}

type OnClient = (client: Client) => void;

async function answered(endpoint: Endpoint, request: HttpRequest, onClient: OnClient): Promise<Response> {
  try {
    const { status = 200, body } = await endpoint.handle(request, onClient);
    return body ? jsonOf(status, body) : { status, headers: { pragma: "no-cache" } };
  } catch (error) {
    const refusal = oauthErrorOf(error);
    noteFailure(request.values, refusal.code, error);
    return refused(endpoint, request, refusal);
  }
}

/** The OAuth error that an application receives for an error. */
export function oauthErrorOf(error: unknown): OauthError {
  if (error instanceof OauthError) return error;
  return isOutage(error)
    ? new OauthError("temporarily_unavailable", "the service cannot answer for the moment")
    : new OauthError("server_error", "the service failed");
}

// RFC 6749, 5.2; RFC 6750, 3.1; RFC 9449, 5 and 7.1.
function statusOf(scheme: Endpoint["scheme"], { code }: OauthError): number {
  switch (code) {
    case "invalid_dpop_proof":
      return scheme === "Bearer" ? 401 : 400;
    case "invalid_client":
    case "invalid_token":
      return 401;
    case "insufficient_scope":
      return 403;
    case "server_error":
      return 500;
    case "temporarily_unavailable":
      return 503;
    default:
      return 400;
  }
}

function refused({ scheme }: Endpoint, { headers }: HttpRequest, error: OauthError): Response {
  const status = statusOf(scheme, error);
  const { code, description, retrySeconds } = error;
  const response = withRetry(jsonOf(status, { error: code, error_description: description }), retrySeconds);
  const isChallenged = scheme === "Bearer" ? status < 500 : status === 401 && headers.authorization !== undefined;
  if (!isChallenged) return response;
  const challenge = scheme === "Basic" ? basicChallenge(error) : tokenChallenge(error, headers.authorization);
  return { ...response, headers: { ...response.headers, "www-authenticate": challenge } };
}

const basicChallenge = (error: OauthError): string => `Basic realm="postern"${parametersOf(error)}`;

/** The challenge of both schemes, with the error in that of the request (RFC 9449, 7.1). */
function tokenChallenge(error: OauthError, authorization = ""): string {
  const isDpop = /^dpop /i.test(authorization);
  const [bearer, dpop] = isDpop ? ["", parametersOf(error)] : [parametersOf(error), ""];
  return `Bearer realm="postern"${bearer}, DPoP realm="postern", algs="${dpopAlgorithms.join(" ")}"${dpop}`;
}

/** RFC 6750, 3.1: the challenge for a request without a token includes no error. */
const parametersOf = (error: OauthError): string =>
  error instanceof TokenMissing ? "" : `, error="${error.code}", error_description="${error.description}"`;

const withRetry = (response: Response, seconds: number | undefined): Response =>
  seconds === undefined ? response : { ...response, headers: { ...response.headers, "retry-after": String(seconds) } };

const jsonOf = (status: number, body: object): Response => ({
  status,
  headers: { "content-type": "application/json", pragma: "no-cache" },
  // Buffers are never compressed, which matters because a secret appears next to texts from the client.
  body: Buffer.from(JSON.stringify(body)),
});

/** The call that a request represents, for reads and writes. */
export const callOf = ({ values, signal, headers }: HttpRequest): Call => ({
  values,
  signal,
  requestHeader: { get: (name) => headers[name] ?? null },
});
