import { create, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { status as codes } from "@grpc/grpc-js";
import postgres from "postgres";
import { expect, test } from "vitest";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../packages/gateway/gen/grpc/health/v1/health_pb.ts";
import {
  ServerReflection,
  ServerReflectionRequestSchema,
} from "../../packages/gateway/gen/grpc/reflection/v1/reflection_pb.ts";
import { grpcClient } from "../../packages/gateway/test/services/grpc_client.ts";
import { text } from "../../src/messages/catalogue.ts";
import { startPostern } from "../harness.ts";
import { readError, refusalOf } from "../wire/refusal.ts";
import { transports } from "../wire/transports.ts";

const services = [
  "Account",
  "Application",
  "Event",
  "Member",
  "Organization",
  "Policy",
  "Project",
  "Session",
  "User",
  "UserGrant",
];

test("on the one port, every service is well and described, to a client without a token", async () => {
  await using postern = await startPostern();
  using client = grpcClient(postern.url);
  const { statuses } = await client.unary(Health.method.list, {});
  for (const name of services) expect(statuses[`postern.v1.${name}Service`]?.status, name).toBe(Status.SERVING);
  const missing = await client.unary(Health.method.check, { service: "no.Service" }).catch((error) => error);
  expect(missing).toMatchObject({ code: codes.NOT_FOUND });
  const answers = await client.converse(ServerReflection.method.serverReflectionInfo, [
    { messageRequest: { case: "listServices", value: "" } },
    ...services.map((name) => ({
      messageRequest: { case: "fileContainingSymbol", value: `postern.v1.${name}Service` } as const,
    })),
  ]);
  const files = answers.slice(1).map(({ messageResponse }) => {
    const bytes = messageResponse.case === "fileDescriptorResponse" && messageResponse.value.fileDescriptorProto[0];
    return bytes ? fromBinary(FileDescriptorProtoSchema, bytes).service[0]?.name : undefined;
  });
  expect(files).toEqual(services.map((name) => `${name}Service`));
});

test("a service that is not here is refused in the language asked for, in every protocol", async () => {
  await using postern = await startPostern();
  for (const { name, open } of transports) {
    const { check } = createClient(Health, open(postern.url));
    const error = await refusalOf(check({ service: "none" }, { headers: { "accept-language": "de" } }));
    const localized = text("SERVICE_NOT_FOUND", "de", { id: "none" });
    expect(readError(error), name).toMatchObject({ code: "NotFound", reason: "SERVICE_NOT_FOUND", localized });
  }
});

test("health over plain JSON and Connect, for who has no gRPC at hand", async () => {
  await using postern = await startPostern();
  const init = {
    method: "POST",
    headers: { "content-type": "application/json", "connect-protocol-version": "1" },
    body: "{}",
  };
  const answer = await fetch(`${postern.url}/grpc.health.v1.Health/Check`, init);
  expect([answer.status, await answer.json()]).toEqual([200, { status: "SERVING" }]);
});

test("a server that loses its database is not ready, and is again when it has it back", async () => {
  await using postern = await startPostern();
  using client = grpcClient(postern.url);
  const url = new URL(postern.databaseUrl);
  const name = url.pathname.slice(1);
  const admin = postgres({
    host: url.searchParams.get("host") ?? url.hostname,
    user: url.username,
    database: "postgres",
    max: 1,
  });
  const shut = async (shut: boolean) => {
    await admin.unsafe(`alter database ${name} with allow_connections ${!shut}`);
    if (shut) await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`;
  };
  const health = async () => (await client.unary(Health.method.check, {})).status;
  const readyz = async () => (await fetch(`${postern.url}/readyz`)).status;
  const metric = async () => /^postern_ready (\d)/m.exec(await (await fetch(`${postern.url}/metrics`)).text())?.[1];
  // One after the other: an answer that takes more than a second counts as not ready, and the metric is kept for a second.
  const allSay = async (status: Status, readyStatus: number, ready: string) => {
    await expect.poll(health).toBe(status);
    await expect.poll(readyz).toBe(readyStatus);
    await expect.poll(metric).toBe(ready);
  };
  await allSay(Status.SERVING, 200, "1");
  await shut(true);
  await allSay(Status.NOT_SERVING, 503, "0");
  await shut(false);
  await allSay(Status.SERVING, 200, "1");
  await admin.end();
});

test("who watches hears that the server stops", async () => {
  const postern = await startPostern();
  using client = grpcClient(postern.url);
  const heard: Status[] = [];
  let closed: PromiseLike<void> | undefined;
  const watching = (async () => {
    for await (const { status } of client.watch(Health.method.watch, {})) {
      heard.push(status);
      if (heard.length === 1) closed = postern[Symbol.asyncDispose]();
    }
  })();
  await expect(watching).rejects.toMatchObject({ code: codes.UNAVAILABLE });
  await closed;
  expect(heard).toEqual([Status.SERVING, Status.NOT_SERVING]);
});

test("a conversation that is open when the server stops ends with UNAVAILABLE", async () => {
  const postern = await startPostern({ shutdownGraceMs: 60_000 });
  using client = grpcClient(postern.url);
  const talk = client.open(ServerReflection.method.serverReflectionInfo);
  talk.write(create(ServerReflectionRequestSchema, { messageRequest: { case: "listServices", value: "" } }));
  let closed: PromiseLike<void> | undefined;
  const reading = (async () => {
    for await (const _ of talk) closed = postern[Symbol.asyncDispose]();
  })();
  await expect(reading).rejects.toMatchObject({ code: codes.UNAVAILABLE });
  await closed;
});
