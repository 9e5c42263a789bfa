import type { HttpRequest, HttpRoute } from "@postern/gateway";
import { keys as callKeys } from "../deps.ts";
import { deviceAuthorizationEndpoint } from "./device/device_authorization.ts";
import { outwardFetch } from "./http/fetcher.ts";
import { OauthError, TokenMissing } from "./http/oauth_error.ts";
import { formIn } from "./http/parameters.ts";
import { paths } from "./http/paths.ts";
import { noteClient } from "./pages/request_notes.ts";
import type { ProviderParts } from "./parts.ts";
import { pushedRequestEndpoint } from "./pushed_requests/pushed_request_endpoint.ts";
import type { Client } from "./request/client.ts";
import { clientAuthentication, proofIn, type TokenQuestion } from "./request/client_authentication.ts";
import { clientKeys } from "./request/client_keys.ts";
import { consoleIssuerOf } from "./request/console_client.ts";
import { callOf, endpointRoute } from "./request/endpoint.ts";
import {
  introspectionEndpoint,
  type PresentedToken,
  revocationEndpoint,
  userinfoEndpoint,
} from "./tokens/bearer_endpoints.ts";
import { tokenEndpoint } from "./tokens/token_endpoint.ts";

/** The endpoints that applications post forms to, and userinfo. */
export function endpoints(parts: ProviderParts): readonly HttpRoute[] {
  const { deps, settings, keys, issuer } = parts;
  const authenticate = clientAuthentication(deps, { issuer, keysOf: clientKeys(outwardFetch(settings)) });
  const maker = { keys, issuer, ids: deps.ids, settings };
  const token = tokenEndpoint({ deps, settings, maker, authenticate, consoleIssuer: consoleIssuerOf(parts) });
  const userinfo = userinfoEndpoint({ deps, keys, issuer });
  const introspect = introspectionEndpoint({ deps, keys, issuer, authenticate });
  const revoke = revocationEndpoint({ deps, keys, issuer, authenticate });
  const device = deviceAuthorizationEndpoint({ deps, settings, issuer, authenticate });
  const push = pushedRequestEndpoint({ ...parts, authenticate });
  const byClient = { methods: ["POST"], scheme: "Basic" } as const;

  return [
    endpointRoute(parts, {
      path: paths.token,
      ...byClient,
      handle: async (request, onClient) => ({ body: await token(questionIn(request, onClient)) }),
    }),
    endpointRoute(parts, {
      path: paths.deviceAuthorization,
      ...byClient,
      handle: async (request, onClient) => ({ body: await device(questionIn(request, onClient)) }),
    }),
    endpointRoute(parts, {
      path: paths.pushedAuthorization,
      ...byClient,
      handle: async (request, onClient) => ({
        status: 201,
        body: await push(questionIn(request, onClient, ["resource"])),
      }),
    }),
    endpointRoute(parts, {
      path: paths.introspect,
      ...byClient,
      handle: async (request, onClient) => ({ body: await introspect(questionIn(request, onClient)) }),
    }),
    endpointRoute(parts, {
      path: paths.revoke,
      ...byClient,
      async handle(request, onClient) {
        await revoke(questionIn(request, onClient));
        return {};
      },
    }),
    endpointRoute(parts, {
      path: paths.userinfo,
      methods: ["GET", "POST"],
      scheme: "Bearer",
      async handle(request, onClient) {
        const ofToken = (client: Client) => {
          noteClient(request.values, client);
          request.values.set(callKeys.clientOwner, client.owner);
          onClient(client);
        };
        return { body: await userinfo(tokenIn(request), ofToken) };
      },
    }),
  ];
}

function questionIn(request: HttpRequest, onClient: OnClient, mayRepeat: readonly string[] = []): TokenQuestion {
  const form = formIn(request.headers, request.body, mayRepeat);
  const { authorization, dpop } = request.headers;
  return { form, proof: proofIn(authorization, form), call: callOf(request), onClient, dpop };
}

type OnClient = (client: Client) => void;

/** The token of a request: from its header, or from the form of a POST (RFC 6750, 2), but never from the query. */
function tokenIn({ method, headers, body }: HttpRequest): PresentedToken {
  const [, scheme = "", inHeader] = /^(bearer|dpop) +([^\s]+)$/i.exec(headers.authorization ?? "") ?? [];
  const inForm = method === "POST" && body.length > 0 ? formIn(headers, body).get("access_token") : undefined;
  if (inHeader !== undefined && inForm !== undefined)
    throw new OauthError("invalid_request", "the access token appears twice");
  const token = inHeader ?? inForm;
  if (token === undefined) throw new TokenMissing();
  return { token, scheme: /^dpop$/i.test(scheme) ? "DPoP" : "Bearer", method, dpop: headers.dpop };
}
