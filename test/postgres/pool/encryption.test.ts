import { chmod, chown, rm } from "node:fs/promises";
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findHome } from "../../../src/postgres/embedded/database_home.ts";
import { startEmbedded } from "../../../src/postgres/embedded/embedded.ts";
import { migrate } from "../../../src/postgres/migrate.ts";
import { connect } from "../../../src/postgres/pool/connect.ts";
import { fastFolder } from "../../fast_folder.ts";
import { startPostern } from "../../harness.ts";
import { certificateFor } from "../../wire/certificate.ts";
import { freePort } from "../../wire/free_port.ts";
import { quiet } from "../embedded/holder.ts";

type DatabaseHome = { readonly port: number; readonly ca: string; readonly otherCa: string };
let place: DatabaseHome;
const opened = new AsyncDisposableStack();
beforeAll(async () => {
  const folder = await fastFolder("postern-encrypted-");
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  // Under root the server runs as another user, who must be able to enter, and whose own the key must be.
  await chmod(folder, 0o711);
  const { account } = await findHome(join(folder, "data"));
  const [own, other] = [opened.use(await certificateFor("localhost")), opened.use(await certificateFor("localhost"))];
  const itsOwn = [dirname(own.keyFile), own.keyFile];
  if (!account.isSelf) for (const path of itsOwn) await chown(path, account.uid, account.gid);
  const port = await freePort();
  const listening = { listen_addresses: "127.0.0.1", port: String(port), fsync: "off" };
  const settings = { ...listening, ssl: "on", ssl_cert_file: own.certFile, ssl_key_file: own.keyFile };
  opened.use(await startEmbedded({ dataDir: join(folder, "data"), log: quiet, settings }));
  place = { port, ca: own.certFile, otherCa: other.certFile };
});
afterAll(() => opened[Symbol.asyncDispose]());

const url = (parameters: string, host = "localhost") =>
  `postgresql://postern@${host}:${place.port}/postgres${parameters}`;
const options = { connections: 2, waitMs: 60_000, statementTimeoutMs: 60_000, log: quiet };

/** Whether a connection is encrypted, or why there is none. */
async function encrypted(at: string): Promise<unknown> {
  await using db = connect(at, options);
  const asked = db.sql<{ ssl: boolean }[]>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`;
  return await asked.then(
    ([row]) => row?.ssl,
    ({ code }) => code,
  );
}

test("the connection is encrypted as the URL says", async () => {
  expect(await encrypted(url(""))).toBe(false);
  expect(await encrypted(url("?sslmode=disable"))).toBe(false);
  expect(await encrypted(url("?sslmode=prefer"))).toBe(true);
  expect(await encrypted(url("?sslmode=require"))).toBe(true);
  expect(await encrypted(url(`?sslmode=verify-full&sslrootcert=${place.ca}`))).toBe(true);
});

test("a server whose certificate nobody vouches for is refused, where that is asked for", async () => {
  const unknown = expect.stringMatching(
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|CERT_SIGNATURE_FAILURE)$/,
  );
  expect(await encrypted(url("?sslmode=verify-full"))).toEqual(unknown);
  for (const mode of ["require", "verify-ca", "verify-full"])
    expect(await encrypted(url(`?sslmode=${mode}&sslrootcert=${place.otherCa}`)), mode).toEqual(unknown);
});

test("a certificate for another name is refused by verify-full only, also when the name is an address", async () => {
  const vouched = `sslrootcert=${place.ca}`;
  expect(await encrypted(url(`?sslmode=verify-full&${vouched}`, "127.0.0.1"))).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
  expect(await encrypted(url(`?sslmode=verify-ca&${vouched}`, "127.0.0.1"))).toBe(true);
  expect(await encrypted(url(`?sslmode=require&${vouched}`, "127.0.0.1"))).toBe(true);
});

test("a server that cannot encrypt is not talked to in clear", async () => {
  let received = Buffer.alloc(0);
  await using plain = await startPlain((data) => (received = Buffer.concat([received, data])));
  expect(await encrypted(`postgresql://postern:hidden@127.0.0.1:${plain.port}/postgres?sslmode=require`)).toBeDefined();
  expect(received.toString("latin1")).not.toContain("postern");
});

test("a file that is not there is one sentence", async () => {
  const at = url("?sslmode=verify-full&sslrootcert=/nowhere/ca.pem");
  await expect(migrate({ url: at, log: quiet })).rejects.toThrow(
    /^The file \/nowhere\/ca.pem, the sslrootcert in DATABASE_URL, cannot be read \(ENOENT\)$/,
  );
});

test("the whole service runs over an encrypted connection", async () => {
  await using postern = await startPostern({ databaseUrl: url(`?sslmode=verify-full&sslrootcert=${place.ca}`) });
  expect((await postern.admin.post("/v1/projects", { name: "Encrypted" })).status).toBe(200);
  await using db = connect(url(""), options);
  const [open] = await db.sql`
    select count(*) as clear from pg_stat_activity a join pg_stat_ssl s using (pid)
    where a.application_name = 'postern' and not s.ssl and a.pid <> pg_backend_pid()`;
  expect(open?.clear).toBe(0n);
});

test("a server that falls silent is given up, and the next statement finds it again", async () => {
  await using between = await startBetween(place.port);
  const at = `postgresql://postern@localhost:${between.port}/postgres?sslmode=require`;
  await using db = connect(at, { ...options, statementTimeoutMs: 1_000, silenceMs: 200, connectMs: 3_000 });
  expect(await db.sql`select 1 as one`).toEqual([{ one: 1 }]);
  between.freeze();
  await expect(db.sql`select 2`).rejects.toMatchObject({ code: "CONNECTION_SILENT" });
  between.thaw();
  expect(await db.sql`select 3 as three`).toEqual([{ three: 3 }]);
});

function listening(server: Server): Promise<number> {
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)));
}

/** A server that refuses encryption, and records the bytes it receives. */
async function startPlain(hear: (data: Buffer) => void) {
  const server = createServer((socket) => {
    socket
      .on("error", () => {})
      .on("data", (data) => {
        hear(data);
        // The request for encryption has 8 bytes; whatever follows the no is not for anybody to read.
        if (data.length === 8) socket.write("N");
        else socket.destroy();
      });
  });
  return { port: await listening(server), [Symbol.asyncDispose]: () => closed(server) };
}

/** Stands between, and passes nothing on while it is frozen. */
async function startBetween(to: number) {
  const sockets = new Set<Socket>();
  let frozen = false;
  const server = createServer((near) => {
    const far = dial(to, "127.0.0.1");
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on("data", (data) => frozen || other.write(data));
      one.on("error", () => {}).on("close", () => other.destroy());
    }
  });
  return {
    port: await listening(server),
    freeze() {
      frozen = true;
    },
    thaw() {
      frozen = false;
      for (const socket of sockets) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await closed(server);
    },
  };
}

const closed = (server: Server) => new Promise<void>((resolve) => server.close(() => resolve()));
