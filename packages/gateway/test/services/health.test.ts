import { status as codes } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/grpc/health/v1/health_pb.ts";
import { openStandard } from "./grpc_client.ts";

const { check, list, watch } = Health.method;

test("the server and each of its services serve while the node is ready", async () => {
  await using server = await openStandard();
  for (const service of ["", "sample.Samples", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"])
    expect((await server.client.unary(check, { service })).status).toBe(Status.SERVING);
});

test("a service that is not here is not found, with a reason", async () => {
  await using server = await openStandard();
  const error = await server.client.unary(check, { service: "sample.Nothing" }).catch((thrown) => thrown);
  expect(error).toMatchObject({ code: codes.NOT_FOUND, details: "there is no service sample.Nothing" });
});

test("a list names every service", async () => {
  await using server = await openStandard();
  const { statuses } = await server.client.unary(list, {});
  expect(Object.keys(statuses)).toEqual(
    expect.arrayContaining(["", "sample.Samples", "grpc.reflection.v1alpha.ServerReflection"]),
  );
  expect(new Set(Object.values(statuses).map(({ status }) => status))).toEqual(new Set([Status.SERVING]));
});

test("without its database a node does not serve, whatever went wrong", async () => {
  await using server = await openStandard({ ready: () => Promise.reject(new Error("no database")) });
  expect((await server.client.unary(check, {})).status).toBe(Status.NOT_SERVING);
  const { statuses } = await server.client.unary(list, {});
  expect(statuses["sample.Samples"]?.status).toBe(Status.NOT_SERVING);
});

test("who watches hears how it is, of every change, and of the end", async () => {
  let ready = true;
  await using server = await openStandard({ ready: () => ready });
  const received: Status[] = [];
  const watching = (async () => {
    for await (const { status } of server.client.watch(watch, { service: "sample.Samples" })) {
      received.push(status);
      if (received.length === 1) ready = false;
      if (received.length === 2) ready = true;
      if (received.length === 3) server.stopping.abort();
    }
  })();
  await expect(watching).rejects.toMatchObject({ code: codes.UNAVAILABLE });
  expect(received).toEqual([Status.SERVING, Status.NOT_SERVING, Status.SERVING, Status.NOT_SERVING]);
  expect((await server.client.unary(check, {})).status).toBe(Status.NOT_SERVING);
});

test("who watches a service that is not here hears so, and goes on waiting", async () => {
  await using server = await openStandard();
  const call = server.client.watch(watch, { service: "sample.Nothing" });
  const received: Status[] = [];
  const over = (async () => {
    for await (const { status } of call) received.push(status);
  })().catch((error: unknown) => error);
  await expect.poll(() => received).toEqual([Status.SERVICE_UNKNOWN]);
  call.cancel();
  expect(await over).toMatchObject({ code: codes.CANCELLED });
});

test("the database is asked once, however many ask for health", async () => {
  let checks = 0;
  await using server = await openStandard({
    ready: async () => {
      checks += 1;
      return true;
    },
  });
  await Promise.all(Array.from({ length: 50 }, () => server.client.unary(check, {})));
  expect(checks).toBeLessThan(10);
});
