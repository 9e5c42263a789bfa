import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";
import postgres from "postgres";
import { tell } from "../../packages/gateway/bench/servers/tell.ts";
import { adaptersOf, adapterTable } from "../signin/oidc_adapter.ts";

const [databaseUrl = "", pool = "", clients = "[]"] = process.argv.slice(2);
const sql = postgres(databaseUrl, { max: Number(pool) });
await sql.unsafe(adapterTable);

const server = createServer().listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
const { privateKey } = await generateKeyPair("RS256", { extractable: true, modulusLength: 2048 });

const provider = new Provider(url, {
  adapter: adaptersOf(sql),
  clients: JSON.parse(clients) as object[],
  jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: "RS256", use: "sig", kid: "RS256" }] },
  cookies: { keys: ["a key of cookies"] },
  scopes: ["openid"],
  pkce: { required: () => true },
  ttl: {
    ...{ AuthorizationCode: 60, AccessToken: 600, ClientCredentials: 600, IdToken: 600 },
    ...{ Grant: 7_776_000, Session: 43_200, Interaction: 3_600 },
  },
  features: { devInteractions: { enabled: false }, clientCredentials: { enabled: true } },
  interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
  // Its users are nobody's: no table is asked about them.
  findAccount: (_: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
});

const serve = provider.callback();
server.on("request", (request, response) => {
  const served = request.url?.startsWith("/interaction/") ? signIn(request, response) : serve(request, response);
  served.catch((error) => response.writeHead(500).end(String(error)));
});
await tell(url, {
  async [Symbol.asyncDispose]() {
    server.closeAllConnections();
    server.close();
    await sql.end({ timeout: 1 });
  },
});

/** Signs in the user of the hint, who consents at once: nothing of this is measured. */
async function signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { params } = await provider.interactionDetails(request, response);
  const accountId = params.login_hint ?? "";
  const grant = new provider.Grant({ clientId: params.client_id, accountId });
  grant.addOIDCScope("openid");
  const result = { login: { accountId }, consent: { grantId: await grant.save() } };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}
