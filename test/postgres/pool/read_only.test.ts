import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, inject, test } from "vitest";
import { EventService } from "../../../gen/postern/v1/event_pb.ts";
import { ProjectService } from "../../../gen/postern/v1/project_pb.ts";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../packages/gateway/gen/grpc/health/v1/health_pb.ts";
import { reasonOf } from "../../../src/errors.ts";
import { isOutcomeUnknown, isReadOnly, isUnavailable } from "../../../src/postgres/failure.ts";
import { connect } from "../../../src/postgres/pool/connect.ts";
import { freshDatabase } from "../../database.ts";
import { type Postern, startPostern } from "../../harness.ts";
import { ask, quiet } from "../embedded/holder.ts";
import { openProxy } from "../proxy.ts";

let made = 0;
const name = () => ({ name: `Project ${++made}` });
const failureOf = (statement: PromiseLike<unknown>) =>
  statement.then(
    () => undefined,
    (error: unknown) => error,
  );

function clientsOf({ url, admin }: Postern) {
  const transport = createGrpcTransport({ baseUrl: url });
  const headers = { authorization: `Bearer ${admin.token}` };
  const projects = createClient(ProjectService, transport);
  const health = createClient(Health, transport);
  return {
    rest: () => admin.post("/v1/projects", name()),
    grpc: () => failureOf(projects.createProject(name(), { headers })),
    read: async () => (await admin.get("/v1/projects")).status,
    ready: async () => [(await fetch(`${url}/readyz`)).status, (await health.check({})).status],
  };
}

test("a database that takes no writes is unavailable through every door, and heals by itself", async () => {
  await using at = await freshDatabase();
  const database = new URL(at.url).pathname.slice(1);
  await using postern = await startPostern({ databaseUrl: at.url });
  const { rest, grpc, read, ready } = clientsOf(postern);
  await expect.poll(ready).toEqual([200, Status.SERVING]);
  await ask(inject("databaseUrl"), `alter database ${database} set default_transaction_read_only = on`);
  await ask(
    inject("databaseUrl"),
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`,
  );
  await expect.poll(ready).toEqual([503, Status.NOT_SERVING]);
  for (let round = 0; round < 30; round++) {
    const { status, body } = await rest();
    expect([status, body.code, body.details[0].reason]).toEqual([503, 14, "UNAVAILABLE"]);
    expect(body.details.map((one: { "@type": string }) => one["@type"])).toContain(
      "type.googleapis.com/google.rpc.RetryInfo",
    );
    const failure = await grpc();
    expect([ConnectError.from(failure).code, reasonOf(failure)]).toEqual([Code.Unavailable, "UNAVAILABLE"]);
  }
  await expect.poll(read).toBe(200);
  await ask(inject("databaseUrl"), `alter database ${database} reset default_transaction_read_only`);
  await expect.poll(async () => (await rest()).status).toBe(200);
  await expect.poll(ready).toEqual([200, Status.SERVING]);
  for (let round = 0; round < 30; round++) expect([(await rest()).status, await grpc()]).toEqual([200, undefined]);
});

test("a node that only probes ask heals as well", async () => {
  await using at = await freshDatabase();
  const database = new URL(at.url).pathname.slice(1);
  await using postern = await startPostern({ databaseUrl: at.url });
  const { rest, ready } = clientsOf(postern);
  await ask(inject("databaseUrl"), `alter role postern in database ${database} set default_transaction_read_only = on`);
  await ask(
    inject("databaseUrl"),
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`,
  );
  await expect.poll(ready).toEqual([503, Status.NOT_SERVING]);
  // Not for the moment only in which it has no connection.
  for (let round = 0; round < 5; round++, await sleep(300)) expect(await ready()).toEqual([503, Status.NOT_SERVING]);
  await ask(inject("databaseUrl"), `alter role postern in database ${database} reset default_transaction_read_only`);
  await expect.poll(ready).toEqual([200, Status.SERVING]);
  await expect.poll(async () => (await rest()).status).toBe(200);
});

test("a connection that refuses writes is replaced, and the others run on undisturbed", async () => {
  await using at = await freshDatabase({ empty: true });
  await using db = connect(at.url, { connections: 2, waitMs: 60_000, statementTimeoutMs: 60_000, log: quiet });
  await using gate = connect(at.url, { connections: 1, waitMs: 60_000, statementTimeoutMs: 60_000, log: quiet });
  await db.sql`create table written (n int)`;
  await gate.sql`select pg_advisory_lock(1)`;
  const running = db.sql`select 'undisturbed' as way from pg_advisory_xact_lock_shared(1)`.then((rows) => rows);
  await db.sql.unsafe("set default_transaction_read_only = on");
  const failure = await failureOf(db.sql`insert into written values (1)`);
  expect([isReadOnly(failure), isUnavailable(failure), isOutcomeUnknown(failure)]).toEqual([true, true, false]);
  await expect.poll(() => failureOf(db.sql`insert into written values (2)`)).toBeUndefined();
  await gate.sql`select pg_advisory_unlock(1)`;
  expect(await running).toEqual([{ way: "undisturbed" }]);
  expect(await db.sql`select n from written`).toEqual([{ n: 2 }]);
});

test("a stream that begins while the database is away is unavailable as well", async () => {
  await using at = await freshDatabase();
  await using proxy = await openProxy(at.url);
  await using postern = await startPostern({ databaseUrl: proxy.url, cacheSeconds: 0 });
  const events = createClient(EventService, createGrpcTransport({ baseUrl: postern.url }));
  proxy.fail({ refuse: true });
  proxy.reset();
  const headers = { authorization: `Bearer ${postern.admin.token}` };
  const watching = async () => {
    for await (const _ of events.watchEvents({}, { headers, timeoutMs: 60_000 })) return "an event";
    return "the end";
  };
  for (let round = 0; round < 5; round++) {
    const failure = await failureOf(watching());
    expect([ConnectError.from(failure).code, reasonOf(failure)]).toEqual([Code.Unavailable, "UNAVAILABLE"]);
  }
});
