import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ended } from "../command.ts";
import { openStage, type Stage } from "../stage.ts";
import { found } from "../toolchains.ts";
import { openWorkshop } from "../workshop.ts";

const module = "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4";

// It has no copy of the contract: all that it knows comes from reflection.
describe.skipIf(!found("go"))("grpcurl", () => {
  let stage: Stage;
  let env: Record<string, string>;
  beforeAll(async () => {
    const bin = await installed();
    stage = await openStage();
    env = { ...stage.environment, PATH: `${bin}:${process.env.PATH}` };
  }, 600_000);
  afterAll(() => stage?.[Symbol.asyncDispose]());

  const grpcurl = async (...more: string[]) => {
    const { out, err } = await ended(["grpcurl", "-plaintext", "-format-error", ...more], { env });
    return out || err;
  };
  /** Asks as the administrator. */
  const ask = async (rpc: string, request: object) => {
    const { POSTERN_TOKEN: token, POSTERN_ADDRESS: address = "" } = stage.environment;
    const options = ["-H", `authorization: Bearer ${token}`, "-d", JSON.stringify(request)];
    return JSON.parse(await grpcurl(...options, address, `postern.v1.${rpc}`));
  };

  test("describes the four operations", async () => {
    const nouns = ["Account", "Application", "User", "UserGrant"];
    const names = nouns.map((noun) => `postern.v1.${noun}Service`);
    const address = stage.environment.POSTERN_ADDRESS ?? "";
    expect((await grpcurl(address, "list")).split("\n")).toEqual(expect.arrayContaining(names));
    const described = (await Promise.all(names.map((name) => grpcurl(address, "describe", name)))).join();
    for (const name of ["ChangePassword", "CreateOidcApplication", "ChangePhone", "AddUserGrant"])
      expect(described).toContain(`rpc ${name} ( .postern.v1.${name}Request ) returns ( .postern.v1.${name}Response )`);
  });

  test("asks for health", async () => {
    const answer = await grpcurl(stage.environment.POSTERN_ADDRESS ?? "", "grpc.health.v1.Health/Check");
    expect(JSON.parse(answer)).toEqual({ status: "SERVING" });
  });

  test("changes a phone, and is told of every wrong field", async () => {
    const request = { userId: stage.environment.POSTERN_USER_ID, phone: "+41446681800", returnCode: {} };
    expect(await ask("UserService/ChangePhone", request)).toMatchObject({ verificationCode: expect.any(String) });
    const { details } = await ask("UserService/ChangePhone", { ...request, sendCode: {} });
    expect(details).toMatchObject([
      { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "VALIDATION_FAILED" },
      { fieldViolations: [{ field: "sendCode" }, { field: "returnCode" }] },
    ]);
  });

  test("gives a user a role as in the README, and is told when it has one", async () => {
    const run = () => ended(["sh", join(import.meta.dirname, "grpcurl.sh")], { env });
    expect(JSON.parse((await run()).out)).toMatchObject({ details: { sequence: "1" } });
    expect((await run()).err).toMatch(/AlreadyExists.*USER_GRANT_EXISTS/s);
  });
});

async function installed(): Promise<string> {
  const { kept, must } = await openWorkshop("shell");
  await must("env", `GOBIN=${kept}`, "go", "install", module);
  return kept;
}
