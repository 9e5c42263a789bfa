import { status as codes } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../../gen/grpc/health/v1/health_pb.ts";
import { openStandard } from "./grpc.ts";

const { check, list, watch } = Health.method;

test("the server and each of its services serve while the node is ready", async () => {
  await using house = await openStandard();
  for (const service of ["", "postern.v1.UserService", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"])
    expect((await house.client.unary(check, { service })).status).toBe(Status.SERVING);
});

test("a service that is not here is not found, with a reason", async () => {
  await using house = await openStandard();
  const error = await house.client.unary(check, { service: "postern.v1.Nothing" }).catch((thrown) => thrown);
  expect(error).toMatchObject({ code: codes.NOT_FOUND, details: "service postern.v1.Nothing does not exist" });
});

test("a list names every service", async () => {
  await using house = await openStandard();
  const { statuses } = await house.client.unary(list, {});
  expect(Object.keys(statuses)).toEqual(
    expect.arrayContaining(["", "postern.v1.EventService", "grpc.reflection.v1alpha.ServerReflection"]),
  );
  expect(new Set(Object.values(statuses).map(({ status }) => status))).toEqual(new Set([Status.SERVING]));
});

test("without its database a node does not serve, whatever went wrong", async () => {
  await using house = await openStandard(() => Promise.reject(new Error("no database")));
  expect((await house.client.unary(check, {})).status).toBe(Status.NOT_SERVING);
  const { statuses } = await house.client.unary(list, {});
  expect(statuses["postern.v1.UserService"]?.status).toBe(Status.NOT_SERVING);
});

test("who watches hears how it is, of every change, and of the end", async () => {
  let ready = true;
  await using house = await openStandard(() => ready);
  const heard: Status[] = [];
  for await (const { status } of house.client.watch(watch, { service: "postern.v1.UserService" })) {
    heard.push(status);
    if (heard.length === 1) ready = false;
    if (heard.length === 2) ready = true;
    if (heard.length === 3) house.stopping.abort();
  }
  expect(heard).toEqual([Status.SERVING, Status.NOT_SERVING, Status.SERVING, Status.NOT_SERVING]);
  expect((await house.client.unary(check, {})).status).toBe(Status.NOT_SERVING);
});

test("who watches a service that is not here hears so, and goes on waiting", async () => {
  await using house = await openStandard();
  const call = house.client.watch(watch, { service: "postern.v1.Nothing" });
  const heard: Status[] = [];
  const over = (async () => {
    for await (const { status } of call) heard.push(status);
  })().catch((error: unknown) => error);
  await expect.poll(() => heard).toEqual([Status.SERVICE_UNKNOWN]);
  call.cancel();
  expect(await over).toMatchObject({ code: codes.CANCELLED });
});

test("the database is asked once, however many ask for health", async () => {
  let asked = 0;
  await using house = await openStandard(async () => {
    asked += 1;
    return true;
  });
  await Promise.all(Array.from({ length: 50 }, () => house.client.unary(check, {})));
  expect(asked).toBeLessThan(10);
});
