import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { exportJWK, generateKeyPair } from "jose";
import Provider, { type Context } from "oidc-provider";
import type { Application } from "../application.ts";
import type { Clients, Peer } from "./peer.ts";

const redirectUri = "https://app.example/cb";
const person = { username: "ada", password: "Blue-Kettle-42" };

type Registration = Readonly<Record<string, unknown>>;

const registrations: Readonly<Record<keyof Clients, Registration>> = {
  web: {},
  other: {},
  poster: { token_endpoint_auth_method: "client_secret_post" },
  public: { token_endpoint_auth_method: "none" },
  native: {
    ...{ application_type: "native", token_endpoint_auth_method: "none" },
    redirect_uris: ["http://127.0.0.1/cb"],
  },
  implicit: { grant_types: ["implicit"], response_types: ["id_token", "id_token token"] },
  offline: { grant_types: ["authorization_code", "refresh_token"] },
};

/** Starts the library on a free port, with the paths of Postern, its settings, and pages of the same form. */
export async function startLibrary(): Promise<Peer & AsyncDisposable> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const issuer = `http://localhost:${typeof address === "object" ? address?.port : ""}`;
  const clients = Object.fromEntries(
    Object.entries(registrations).map(([name, registration]) => [name, applicationOf(name, registration)]),
  ) as Clients;
  const provider = new Provider(issuer, await configuration());
  const serve = provider.callback();
  server.on("request", (request, response) => {
    const served = request.url?.startsWith("/interaction/")
      ? interaction(provider, request, response)
      : serve(request, response);
    served.catch((error) => response.writeHead(500).end(String(error)));
  });
  return {
    ...{ issuer, clients, person },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function applicationOf(name: string, { redirect_uris }: Registration): Application {
  const [first = redirectUri] = (redirect_uris as string[] | undefined) ?? [];
  return { projectId: "", appId: name, clientId: name, clientSecret: `secret-of-${name}`, redirectUri: first };
}

const configuration = async () => ({
  clients: Object.entries(registrations).map(([name, registration]) => ({
    client_id: name,
    redirect_uris: [redirectUri],
    response_types: ["code"],
    ...(registration.token_endpoint_auth_method === "none" ? {} : { client_secret: `secret-of-${name}` }),
    ...registration,
  })),
  responseTypes: ["code", "id_token", "id_token token"],
  scopes: ["openid", "offline_access", "profile", "email"],
  claims: { openid: ["sub"], profile: ["name", "preferred_username"], email: ["email", "email_verified"] },
  clientAuthMethods: ["client_secret_basic", "client_secret_post", "private_key_jwt", "none"],
  jwks: { keys: [await signingKey("RS256"), await signingKey("ES256")] },
  cookies: { keys: ["a key of cookies"], long: { sameSite: "none" } },
  enableHttpPostMethods: true,
  rotateRefreshToken: true,
  ttl: {
    ...{ AuthorizationCode: 60, AccessToken: 600, IdToken: 600, RefreshToken: 2_592_000 },
    ...{ Grant: 7_776_000, Session: 43_200, Interaction: 3_600 },
  },
  pkce: { required: (_: Context, client: { clientAuthMethod: string }) => client.clientAuthMethod === "none" },
  features: {
    ...{ devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: true } },
    ...{ backchannelLogout: { enabled: true }, deviceFlow: { enabled: true } },
    ...{ introspection: { enabled: true }, revocation: { enabled: true } },
    ...{ dPoP: { enabled: false }, pushedAuthorizationRequests: { enabled: false } },
  },
  routes: {
    ...{ authorization: "/oauth/authorize", token: "/oauth/token", userinfo: "/oauth/userinfo" },
    ...{ introspection: "/oauth/introspect", revocation: "/oauth/revoke", jwks: "/oauth/keys" },
    ...{ end_session: "/oauth/end-session", device_authorization: "/oauth/device" },
  },
  interactions: { url: (_: Context, { uid }: { uid: string }) => `/interaction/${uid}` },
  findAccount: (_: Context, accountId: string) => ({
    accountId,
    claims: () => ({ sub: accountId, preferred_username: accountId, name: "Ada Byron" }),
  }),
  loadExistingGrant,
});

async function signingKey(alg: "RS256" | "ES256") {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), alg, use: "sig", kid: alg };
}

/** Nobody has to consent, but where a request asks for it. */
async function loadExistingGrant({ oidc: { provider, client, account, params, session } }: Context) {
  const known = await provider.Grant.find(session.grantIdFor(client.clientId) ?? "");
  const grant = known ?? new provider.Grant({ clientId: client.clientId, accountId: account.accountId });
  grant.addOIDCScope(params.scope ?? "openid");
  await grant.save();
  return grant;
}

/** The pages of a sign-in: a password, or a click, with the fields that Postern's pages have. */
async function interaction(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { uid, prompt } = await provider.interactionDetails(request, response);
  if (request.method === "GET") {
    const field = prompt.name === "login" ? '<input name="login_name"><input name="password">' : "";
    const button = `<button name="action" value="${prompt.name === "login" ? "password" : "continue"}">Go on</button>`;
    response.writeHead(200, { "content-type": "text/html" });
    response.end(`<form method="post" action="/interaction/${uid}">${field}${button}</form>`);
    return;
  }
  const form = new URLSearchParams(await text(request));
  const isRight = form.get("login_name") === person.username && form.get("password") === person.password;
  const result = prompt.name !== "login" ? { consent: {} } : isRight ? { login: { accountId: "ada" } } : undefined;
  const refused = { error: "access_denied" };
  await provider.interactionFinished(request, response, result ?? refused, { mergeWithLastSubmission: true });
}
