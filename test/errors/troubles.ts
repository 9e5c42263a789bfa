import { mkdtemp, rm } from "node:fs/promises";
import { createServer, connect as dial, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Config } from "../../src/config/config.ts";
import type { Reason } from "../../src/reasons.ts";
import { freshDatabase } from "../database.ts";
import { startChild } from "../fixture/child_server.ts";
import { type Client, type Postern, startPostern } from "../harness.ts";
import { openProbe, type Probe, sleeper, slowCommits, slowWrites } from "../probe.ts";
import { fresh, germanOf, type Row, type Seen } from "./provocation.ts";

type Own = { readonly postern: Postern; readonly probe: Probe; readonly german: Client };

/** The failures on our side, each on a server and a database of its own. */
export const troubleRows = {
  CONFLICT: {
    by: () =>
      withOwn(async ({ probe, german }) => {
        await probe.sql.unsafe(`
          create function lose() returns trigger language plpgsql as
            'begin raise unique_violation using constraint = ''events_pkey''; end';
          create trigger lose before insert on events for each row execute function lose()`);
        return newProject(german);
      }),
  },
  INTERNAL: {
    by: () =>
      withOwn(async ({ probe, german }) => {
        await probe.sql`alter table projects rename to gone`;
        return newProject(german);
      }),
  },
  DEADLINE_EXCEEDED: {
    by: () =>
      withOwn(
        async ({ probe, german }) => {
          await slowWrites(probe, 15);
          return newProject(german);
        },
        { databaseStatementTimeoutMs: 3_000 },
      ),
  },
  OUTCOME_UNKNOWN: {
    by: () =>
      withOwn(async ({ probe, german }) => {
        await slowCommits(probe, 5);
        const asked = newProject(german);
        await probe.sql`select pg_terminate_backend(${await sleeper(probe)})`;
        return asked;
      }),
  },
  RATE_LIMIT: {
    by: () =>
      withOwn(
        async ({ postern, german }) => {
          const forwarded = { "x-forwarded-for": "203.0.113.7" };
          await postern.admin.get("/v1/users/me", forwarded);
          return german.get("/v1/users/me", forwarded);
        },
        { callsPerAddressPerMinute: 1, trustedProxies: ["127.0.0.1"] },
      ),
    details: ["RetryInfo"],
  },
  OUTCOME_UNKNOWN_WITH_KEY: {
    by: () =>
      withOwn(async ({ probe, german }) => {
        await slowCommits(probe, 5);
        const asked = german.post("/v1/projects", { name: fresh("project") }, { "idempotency-key": fresh("key") });
        await probe.sql`select pg_terminate_backend(${await sleeper(probe)})`;
        return asked;
      }),
    details: ["RetryInfo"],
  },
  OVERLOADED: {
    by: () =>
      withOwn(
        async ({ postern }) => {
          const signIn = () => ({ loginName: fresh("nobody"), password: "wrong" });
          // Attempts may happen to come one after the other, on a busy machine above all: only a second one at a time is refused.
          for (;;) {
            const asked = Array.from({ length: 8 }, () => germanOf(postern.as()).post("/v1/sessions", signIn()));
            const refused = (await Promise.all(asked)).find(({ status }) => status !== 401);
            if (refused) return refused;
          }
        },
        { hashQueue: 0, hashConcurrency: 1, hashMemoryKib: 19_456 },
      ),
    details: ["RetryInfo"],
  },
  UNAVAILABLE: {
    async by() {
      await using database = await freshDatabase();
      await using way = await openWay(database.url);
      return await withOwn(
        async ({ german }) => {
          await way.cut();
          return newProject(german);
        },
        { databaseUrl: way.url },
      );
    },
    details: ["RetryInfo"],
  },
  CANCELLED: {
    async by({ postern }) {
      await using child = await startChild({ ...postern.config, logLevel: "info" });
      const leaving = new AbortController();
      const headers = { authorization: `Bearer ${postern.admin.token}` };
      const watched = fetch(`${child.url}/v1/events:watch`, { headers, signal: leaving.signal });
      watched.catch(() => {});
      // Whether its headers come before the first event or not, by then the watch has begun.
      await Promise.race([watched, pause(1000)]);
      leaving.abort();
      return {
        status: 0,
        body: await child.line(({ operation }) => operation === "/postern.v1.EventService/WatchEvents"),
      };
    },
    logged: true,
  },
} as const satisfies Partial<Record<Reason, Row>>;

async function withOwn(provoke: (own: Own) => Promise<Seen>, settings: Partial<Config> = {}): Promise<Seen> {
  await using postern = await startPostern(settings);
  await using probe = openProbe(postern.databaseUrl);
  return await provoke({ postern, probe, german: germanOf(postern.admin) });
}

const newProject = (client: Client) => client.post("/v1/projects", { name: fresh("project") });

/** A way to the database that can be cut, as by a broken network. */
async function openWay(databaseUrl: string) {
  const folder = await mkdtemp(join(tmpdir(), "postern-way-"));
  const url = new URL(databaseUrl);
  const database = `${url.searchParams.get("host")}/.s.PGSQL.${url.port || 5432}`;
  url.searchParams.set("host", folder);
  const sockets = new Set<Socket>();
  const server = createServer((from) => {
    const to = dial(database);
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(one);
      one
        .on("error", () => {})
        .on("close", () => other.destroy())
        .pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(`${folder}/.s.PGSQL.${url.port || 5432}`, resolve));
  const cut = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    ...{ url: url.href, cut },
    async [Symbol.asyncDispose]() {
      await cut();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
