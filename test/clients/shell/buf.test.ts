import { join } from "node:path";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codeFromString } from "../../../packages/gateway/src/rpc/protocols/connect_es.ts";
import { answered, type Client, type ClientAnswer, type ClientCall, refused } from "../client.ts";
import { type Command, type Ended, ended, printing } from "../command.ts";
import { keepsPromises } from "../promises.ts";
import { openStage, type Stage } from "../stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

describe.each(["grpc", "grpcweb", "connect"])("buf curl --protocol %s", (protocol) => {
  const curl = (path: string, ...more: string[]): Command => {
    return ["buf", "curl", "--protocol", protocol, ...more, stage.postern.url + path];
  };
  const client: Client = {
    call: async (clientCall) => answerBy(await ended(curl(...partsOf(clientCall), "--verbose"))),
    watch: async (clientCall) => printing(curl(...partsOf(clientCall)), messagesIn),
  };
  keepsPromises(() => ({ postern: stage.postern, client }));

  test("finds every service by reflection", async () => {
    const { out } = await ended(curl("", "--list-services"));
    expect(out.split("\n")).toEqual(expect.arrayContaining(["postern.v1.UserService", "grpc.health.v1.Health"]));
  });

  test("asks for health", async () => {
    expect(JSON.parse((await ended(curl("/grpc.health.v1.Health/Check"))).out)).toEqual({ status: "SERVING" });
  });
});

test("gives a user a role as in the README, and is told when it has one", async () => {
  const run = () => ended(["sh", join(import.meta.dirname, "buf.sh")], { env: stage.environment });
  expect(answerBy(await run()).body).toMatchObject({ details: { sequence: "1" } });
  expect(answerBy(await run())).toMatchObject({ code: "AlreadyExists", reason: "USER_GRANT_EXISTS" });
});

function partsOf({ method, request, headers = {}, timeoutMs }: ClientCall): [path: string, ...more: string[]] {
  return [
    `/${method.parent.typeName}/${method.name}`,
    ...["--emit-defaults", "--data", JSON.stringify(request)],
    // In quotes, for buf would take a comma for the end of a header.
    ...Object.entries(headers).flatMap(([name, value]) => ["--header", `"${name}: ${value}"`]),
    ...(timeoutMs ? ["--timeout", `${timeoutMs}ms`] : []),
  ];
}

type Refusal = { code: string; message?: string; details?: { type: string; value: string }[] };

/** Reads the output: an answer is in one stream; a refusal in the other, after the headers if it was verbose. */
function answerBy({ code, out, err }: Ended): ClientAnswer {
  const headers = headersIn(err);
  // --emit-defaults adds null for absent messages.
  if (code === 0)
    return answered(
      JSON.parse(out, (_, value) => value ?? undefined),
      headers,
    );
  // Its time is that of the command, reflection and all, and may end before the call begins, or a service is found.
  if (/^Failure: .*(deadline exceeded|failed to find service)/m.test(err))
    return refused({ code: 4, message: "", details: [] }, headers);
  const refusal: Refusal = JSON.parse(err.replace(/^buf: .*\n/gm, ""));
  const details = (refusal.details ?? []).map(({ type, value }) =>
    create(AnySchema, { typeUrl: `type.googleapis.com/${type}`, value: base64Decode(value) }),
  );
  return refused({ code: codeFromString(refusal.code) ?? 0, message: refusal.message ?? "", details }, headers);
}

/** The headers of the last request: reflection has the ones before. */
function headersIn(verbose: string): ClientAnswer["headers"] {
  const lines = [...verbose.matchAll(/^buf: < \(#(\d+)\) ([\w-]+): (.*)$/gm)];
  const last = Math.max(...lines.map(([, request]) => Number(request)));
  const own = lines.filter(([, request]) => Number(request) === last);
  return Object.fromEntries(own.map(([, , name = "", value = ""]) => [name.toLowerCase(), value]));
}

const messagesIn = (out: string): JsonObject[] =>
  out
    .split(/(?<=^\})\n/m)
    .slice(0, -1)
    .map((message) => JSON.parse(message));
