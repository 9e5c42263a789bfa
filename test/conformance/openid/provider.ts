import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newToken } from "../../../src/security/token.ts";
import { eventually, readyStatus, startNode } from "../../first_start.ts";
import { type Client, clientOf } from "../../rest_client.ts";
import { freePort } from "../../wire/free_port.ts";

/** The user that signs in at every module. */
export type Login = { readonly loginName: string; readonly password: string };

/** A Postern that serves an issuer over TLS. */
export type Provider = AsyncDisposable & {
  readonly issuer: string;
  readonly login: Login;
  /** Registers an application in the project of all of them; answers what the suite wants to know of it. */
  readonly newClient: (settings: object) => Promise<{ client_id: string; client_secret: string }>;
};

/** Starts Postern as a program, with a certificate, on a database of its own. */
export async function startProvider(certFile: string, keyFile: string): Promise<Provider> {
  await using opened = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), "postern-conformance-"));
  opened.defer(() => rm(dataDir, { recursive: true, force: true }));
  const port = await freePort();
  const issuer = `https://localhost:${port}`;
  const adminToken = newToken("pt");
  const env = {
    ...{ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, PUBLIC_URL: issuer },
    // The suite hears of a sign-out at a loopback address, by the same certificate.
    ...{ OUTGOING_PRIVATE_NETWORKS: "127.0.0.1,::1", OUTGOING_CA_FILE: certFile },
    DATABASE_STATEMENT_TIMEOUT_MS: "10000",
  };
  const node = opened.use(
    await startNode({ databaseUrl: process.env.DATABASE_URL ?? "", dataDir, port, adminToken, env }),
  );
  await eventually(async () => (await readyStatus(issuer)) === 200 || undefined, `Postern: ${node.output()}`);
  const admin = clientOf(issuer, adminToken);
  const login = await newUser(admin);
  const { projectId } = await made(admin, "/v1/projects", { name: "Conformance" });
  const stack = opened.move();
  return {
    ...{ issuer, login },
    async newClient(settings) {
      const name = `Suite ${++count}`;
      const app = await made(admin, `/v1/projects/${projectId}/applications/oidc`, { name, ...settings });
      return { client_id: app.clientId ?? "", client_secret: app.clientSecret ?? "" };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

let count = 0;

async function newUser(admin: Client): Promise<Login> {
  const password = "Blue-Kettle-42";
  const names = { username: "ada", givenName: "Ada", familyName: "Byron" };
  const address = {
    streetAddress: "12 St James's Square",
    locality: "London",
    postalCode: "SW1Y 4JH",
    country: "United Kingdom",
  };
  const reached = { email: "ada@example.com", phone: "+442079460000", address };
  await made(admin, "/v1/users/human", { ...names, ...reached, password });
  return { loginName: names.username, password };
}

async function made(admin: Client, path: string, body: object): Promise<Readonly<Record<string, string>>> {
  const answer = await admin.post(path, body);
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}
