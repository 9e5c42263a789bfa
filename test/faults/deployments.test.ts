import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { newToken } from "../../src/security/token.ts";
import { freshDatabase } from "../database.ts";
import { eventually, type Node, readyStatus, startNode } from "../first_start.ts";
import { freePort } from "../wire/free_port.ts";
import { ipv4, proxyHeader } from "../wire/proxy.ts";
import { startBalancer } from "./haproxy.ts";
import { startNginx } from "./nginx.ts";
import { found } from "./programs.ts";
import { chartEnvironment, composeBalancer, composeEnvironment, type Environment } from "./shipped.ts";

/** Starts a node with what a deployment gives it, but for addresses, and with a limit that two requests meet. */
async function startShipped(env: Environment, opened: AsyncDisposableStack): Promise<Node> {
  const databaseUrl = opened.use(await freshDatabase()).url;
  const dataDir = await mkdtemp(join(tmpdir(), "postern-shipped-"));
  opened.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 20 }));
  const port = await freePort();
  const operationsPort = env.OPERATIONS_PORT === undefined ? undefined : String(await freePort());
  const node = opened.use(
    await startNode({
      ...{ databaseUrl, dataDir, port, adminToken: newToken("pt") },
      env: {
        ...env,
        ...{ DATABASE_URL: databaseUrl, POSTERN_DATA_DIR: dataDir, PORT: String(port), HOST: "127.0.0.1" },
        ...(operationsPort && { OPERATIONS_PORT: operationsPort }),
        PASSWORD_RESETS_PER_ADDRESS_PER_MINUTE: "1",
      },
    }),
  );
  await eventually(async () => (await readyStatus(node.url)) === 200 || undefined, "readiness");
  return node;
}

let asked = 0;

const reset = () => ({
  path: "/v1/password-resets",
  body: JSON.stringify({ loginName: `nobody-${++asked}` }),
});

// Another one each time: what a client writes there must not count.
const invented = () => `203.0.113.${asked}`;

/** The status of a request by a client with this address of the machine. */
async function statusFrom(url: string, localAddress: string): Promise<number> {
  const { path, body } = reset();
  const headers = { "content-type": "application/json", "x-forwarded-for": invented() };
  const sent = request(`${url}${path}`, { method: "POST", localAddress, agent: false, headers });
  sent.end(body);
  const [answer] = await once(sent, "response");
  await text(answer);
  return answer.statusCode;
}

/** The status of a request on a connection that a balancer says to be of this client. */
async function statusNamed({ url }: Node, client: string): Promise<number> {
  const { hostname, port } = new URL(url);
  const { path, body } = reset();
  const socket = connect(Number(port), hostname);
  const head = [`POST ${path} HTTP/1.1`, "host: postern", "content-type: application/json", "connection: close"];
  const lines = [...head, `x-forwarded-for: ${invented()}`, `content-length: ${body.length}`, "", body].join("\r\n");
  socket.write(Buffer.concat([proxyHeader({ addresses: ipv4(client) }), Buffer.from(lines)]));
  return Number((await text(socket)).split(" ")[1]);
}

describe("the nodes of compose.yaml", () => {
  const shipped = composeEnvironment();

  test("trust the balancer of its network, and no other address", () => {
    expect(shipped.TRUSTED_PROXIES).toBe(composeBalancer());
    expect(shipped.TRUSTED_PROXIES).toMatch(/^[\d.]+$/);
  });

  test("count a client of a LAN, or of Docker's gateway, as one, whatever it writes", async () => {
    await using opened = new AsyncDisposableStack();
    const node = await startShipped({ ...shipped, TRUSTED_PROXIES: "127.0.0.1" }, opened);
    for (const client of ["192.168.1.7", "172.18.0.1", "10.0.0.9", "203.0.113.250"])
      expect([await statusNamed(node, client), await statusNamed(node, client)], client).toEqual([200, 429]);
  });

  test.skipIf(!found("haproxy"))("count each client of the shipped HAProxy for itself", async () => {
    await using opened = new AsyncDisposableStack();
    const node = await startShipped({ ...shipped, TRUSTED_PROXIES: "127.0.0.1" }, opened);
    const balancer = opened.use(await startBalancer({ one: node.url, two: node.url }));
    await balancer.untilState("one", "UP");
    for (const client of ["127.0.0.2", "127.0.0.3"])
      expect([await statusFrom(balancer.url, client), await statusFrom(balancer.url, client)]).toEqual([200, 429]);
  });
});

describe.skipIf(!found("helm") || !found("nginx"))("the nodes of the chart behind an Ingress", () => {
  test("count each client of the controller for itself", async () => {
    await using opened = new AsyncDisposableStack();
    const shipped = await chartEnvironment(
      ...[
        "--set",
        "ingress.enabled=true,ingress.host=id.example",
        "--set-string",
        "settings.TRUSTED_PROXIES=127.0.0.1",
      ],
    );
    expect(shipped.PUBLIC_URL).toBe("https://id.example");
    const node = await startShipped(shipped, opened);
    const nginx = opened.use(await startNginx([node.url]));
    for (const client of ["127.0.0.2", "127.0.0.3"])
      expect([await statusFrom(nginx.http, client), await statusFrom(nginx.http, client)]).toEqual([200, 429]);
    // Of a body that no node takes not a byte has been sent: nginx does not wait for it, to keep it on its disk.
    const headers = { "content-type": "application/json", "content-length": 1_000_000 };
    const sent = request(`${nginx.http}${reset().path}`, { method: "POST", agent: false, headers });
    sent.flushHeaders();
    const [answer] = await once(sent, "response");
    expect(answer.statusCode).toBe(413);
    sent.destroy();
  });
});
