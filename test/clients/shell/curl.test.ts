import { join } from "node:path";
import { createRegistry, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { file_google_rpc_error_details } from "../../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.ts";
import { restRequest } from "../../fixture/rest_call.ts";
import { answered, type Client, type ClientAnswer, type ClientCall, connectTimeout, refused } from "../client.ts";
import { type Command, type Ended, ended, printing } from "../command.ts";
import { keepsPromises } from "../promises.ts";
import { openStage, type Stage } from "../stage.ts";
import { found } from "../toolchains.ts";

describe.skipIf(!found("curl")).each(["--http1.1", "--http2-prior-knowledge"])("curl %s", (version) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  const curl = (...more: string[]): Command => ["curl", "--silent", version, ...more];
  const client: Client = {
    deadline: connectTimeout,
    call: async (clientCall) => answerBy(await ended(curl("--include", ...optionsOf(stage, clientCall)))),
    watch: async (clientCall) => printing(curl("--no-buffer", ...optionsOf(stage, clientCall)), linesOf),
  };
  keepsPromises(() => ({ postern: stage.postern, client }));

  test("sends what gzip made, and reads what gzip made", async () => {
    const { environment, postern } = stage;
    const url = `${postern.url}/v1/projects/${environment.POSTERN_PROJECT_ID}/applications`;
    const as = ["--header", `authorization: Bearer ${postern.admin.token}`, "--include"];
    const redirectUris = Array.from({ length: 100 }, (_, n) => `https://app.example.com/callback/${n}`);
    const sent = curl(`${url}/oidc`, ...as, ...json, "--header", "content-encoding: gzip", "--data-binary", "@-");
    const piped: Command = ["sh", "-c", 'printf %s "$BODY" | gzip | "$@"', "sh", ...sent];
    const { body } = answerBy(await ended(piped, { env: { BODY: JSON.stringify({ name: "Large", redirectUris }) } }));
    expect(answerBy(await ended(curl(`${url}/${body.appId}`, ...as, "--compressed")))).toMatchObject({
      headers: { "content-encoding": "gzip" },
      body: { application: { oidc: { redirectUris } } },
    });
  });

  test("is told of the health of the server", async () => {
    for (const path of ["/healthz", "/readyz"])
      expect(await ended(curl("--fail", stage.postern.url + path))).toMatchObject({ code: 0 });
  });

  test("gives a user a role as in the README, and is told when it has one", async () => {
    const { environment } = stage;
    const run = () => ended(["sh", join(import.meta.dirname, "curl.sh")], { env: environment });
    expect(JSON.parse((await run()).out)).toMatchObject({ details: { sequence: "1" } });
    expect(JSON.parse((await run()).out)).toMatchObject({ code: 6, details: [{ reason: "USER_GRANT_EXISTS" }, {}] });
  });
});

const json = ["--header", "content-type: application/json"];

/** A call by its REST path. */
function optionsOf({ postern }: Stage, { method, request, headers = {}, timeoutMs }: ClientCall): string[] {
  const { verb, path, body } = restRequest(method, request);
  return [
    ...["--request", verb, `${postern.url}${path}`],
    ...Object.entries(headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`]),
    ...(body ? [...json, "--data-binary", JSON.stringify(body)] : []),
    ...(timeoutMs ? ["--max-time", String(timeoutMs / 1000)] : []),
  ];
}

const registry = createRegistry(file_google_rpc_error_details);
const gaveUp = 28;

/** Reads the output of `curl --include`. */
function answerBy({ code, out }: Ended): ClientAnswer {
  if (code === gaveUp) return refused({ code: 4, message: "", details: [] }, {});
  const [head = "", ...rest] = out.split("\r\n\r\n");
  const [status = "", ...lines] = head.split("\r\n");
  const headers = Object.fromEntries(lines.map((line) => line.toLowerCase().split(": ")));
  const body: JsonObject = JSON.parse(rest.join());
  if (status.split(" ")[1] === "200") return answered(body, headers);
  return refused(fromJson(StatusSchema, body, { registry }), headers);
}

const linesOf = (out: string): JsonObject[] =>
  out
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
