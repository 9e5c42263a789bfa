import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ownContract } from "../../src/client/contract.ts";
import { errorText } from "../../src/messages/catalogue.ts";
import { machine, type Postern, startPostern } from "../harness.ts";
import { type Ended, postern as program, running } from "./command.ts";

let postern: Postern;
let folder: string;
let tokenFile: string;
beforeAll(async () => {
  postern = await startPostern();
  folder = await mkdtemp(join(tmpdir(), "postern-call-"));
  tokenFile = join(folder, "token");
  await writeFile(tokenFile, `${postern.admin.token}\n`);
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await postern?.[Symbol.asyncDispose]();
});

const call = (...args: string[]): Promise<Ended> =>
  program(["call", "--url", postern.url, "--token-file", tokenFile, ...args]);

describe.each(["connect", "grpc", "grpc-web", "rest"])("call --protocol %s", (door) => {
  const by = (...args: string[]) => call("--protocol", door, ...args);

  test("prints the answer as one line of JSON", async () => {
    const { code, out, err } = await by("UserService/GetUser", '{"userId": "me"}');
    expect([code, err, out.split("\n").length]).toEqual([0, "", 2]);
    expect(JSON.parse(out)).toMatchObject({ user: { id: postern.adminId, username: "admin" } });
  });

  test("takes lists and nested fields to where they belong", async () => {
    const username = `robot-${door}`;
    const made = await by("UserService/CreateMachineUser", JSON.stringify({ username, name: "Zoë 🫖" }));
    const { userId } = JSON.parse(made.out);
    const filter = JSON.stringify({ pageSize: 1, objectId: userId, types: ["user.machine_created", "user.deleted"] });
    const { events } = JSON.parse((await by("EventService/ListEvents", filter)).out);
    expect(events).toMatchObject([{ objectId: userId, fact: { user: { machineCreated: { name: "Zoë 🫖" } } } }]);
  });

  test("says each wrong field of a refusal, with the class as the exit code", async () => {
    const { code, out, err } = await by("UserService/CreateMachineUser", '{"username": "", "name": ""}');
    expect([code, out]).toEqual([3, ""]);
    const lines = err.split("\n");
    expect(lines[0]).toMatch(/^postern: INVALID_ARGUMENT VALIDATION_FAILED: /);
    expect(lines.slice(1, 3)).toEqual(
      ["username", "name"].map((field) => `  ${field}: ${errorText("FIELD_REQUIRED")}`),
    );
    expect(lines[3]).toMatch(/^ {2}request \w+$/);
  });

  test("has an exit code for a missing object, a caller that is refused, and a state that does not fit", async () => {
    const missing = await by("UserService/GetUser", '{"userId": "nobody"}');
    expect([missing.code, missing.err]).toEqual([5, expect.stringContaining("NOT_FOUND USER_NOT_FOUND: ")]);
    const { client } = await machine(postern);
    const other = join(folder, `token-${door}`);
    await writeFile(other, client.token ?? "");
    const denied = await by("ProjectService/CreateProject", '{"name": "x"}', "--token-file", other);
    expect([denied.code, denied.err]).toEqual([4, expect.stringContaining("PERMISSION_DENIED")]);
    const taken = await by("UserService/CreateMachineUser", '{"username": "admin", "name": "x"}');
    expect([taken.code, taken.err]).toEqual([6, expect.stringContaining("ALREADY_EXISTS LOGIN_NAME_TAKEN: ")]);
  });

  test("prints a stream line by line, until it is interrupted", async () => {
    const args = ["call", "EventService/WatchEvents", "--protocol", door, "--url", postern.url];
    await using watching = running([...args, "--token-file", tokenFile], {});
    await vi.waitFor(
      async () => {
        await machine(postern);
        expect(watching.lines()).not.toEqual([]);
      },
      { timeout: 60_000, interval: 500 },
    );
    expect(watching.lines()[0]).toMatchObject({ event: { type: expect.any(String) } });
    expect(await watching.stop("SIGINT")).toBe(0);
  });
});

test("methods are listed, all of them or those of a service", async () => {
  const { out } = await call();
  expect(out.split("\n")).toEqual(
    expect.arrayContaining(["postern.v1.UserService/GetUser", "grpc.health.v1.Health/Check"]),
  );
  // Where reflection is off, the program knows as many.
  const services = new Set(
    out
      .trim()
      .split("\n")
      .map((line) => line.replace(/\/.*/, "")),
  );
  const own = ownContract.services.map(({ typeName }) => typeName);
  expect([...services].filter((name) => name.startsWith("postern.")).sort()).toEqual(own.toSorted());
  const some = (await call("AccountService")).out.trim().split("\n");
  expect(some.every((line) => line.startsWith("postern.v1.AccountService/"))).toBe(true);
});

test("the request comes from a file or the standard input, and a refusal may be JSON", async () => {
  const file = join(folder, "request.json");
  await writeFile(file, '{"userId": "me"}');
  expect(JSON.parse((await call("UserService/GetUser", "-d", `@${file}`)).out)).toMatchObject({ user: {} });
  const args = ["call", "UserService.GetUser", "--json", "-d", "-", "--url", postern.url, "--token-file", tokenFile];
  const { code, err } = await program(args, { input: '{"userId": "nobody"}' });
  expect(code).toBe(5);
  expect(JSON.parse(err)).toMatchObject({
    ...{ code: 5, status: "NOT_FOUND", requestId: expect.any(String) },
    details: expect.arrayContaining([expect.objectContaining({ reason: "USER_NOT_FOUND" })]),
  });
});

test.each<[string[], number, RegExp]>([
  [["UserService/Fly"], 2, /UserService has no method "Fly", but CreateHumanUser, .*: try postern help call$/],
  [["FlyService/Fly"], 2, /There is no method "FlyService\/Fly": postern call lists them: try/],
  [["UserService/GetUser", "{"], 2, /The request is not valid JSON \(/],
  [["UserService/GetUser", "{}", "-d", "{}"], 2, /Pass the request only once: as the argument or with --data/],
  [["UserService/GetUser", "-d", "@/nope"], 2, /\/nope cannot be read/],
  [["UserService/GetUser", "-p", "soap"], 2, /--protocol must be one of connect, grpc, grpc-web, rest, not soap/],
  [["UserService/GetUser", "--timeout", "0"], 2, /--timeout must be seconds/],
  [["UserService/GetUser", '{"userIdd": "me"}'], 3, /INVALID_ARGUMENT: the request is no GetUserRequest: .*"userIdd"/],
  [["UserService/GetUser", "-p", "rest"], 2, /userId is missing, which the path of UserService\/GetUser needs/],
  [["UserService/GetUser", "--token-file", "/nope"], 1, /--token-file \/nope cannot be read$/],
  [["UserService/GetUser", "--url", "ftp://x"], 1, /--url must be an http or https URL/],
  [["UserService/GetUser", "--url", "http://127.0.0.1:1"], 7, /UNAVAILABLE: .*127\.0\.0\.1:1/],
])("call %j ends with code %i, in one line", async (args, code, sentence) => {
  const ended = await call(...args);
  expect([ended.code, ended.out, ended.err.trim().split("\n").length]).toEqual([code, "", 1]);
  expect(ended.err.trim()).toMatch(sentence);
});

test("a service without reflection is called by the contract of the program", async () => {
  await using hidden = await startPostern({ portServes: [] });
  const args = ["call", "AccountService/GetMe", "--url", hidden.url];
  const { code, out } = await program(args, { env: { POSTERN_ADMIN_TOKEN: hidden.admin.token ?? "" } });
  expect([code, JSON.parse(out)]).toMatchObject([0, { user: { id: hidden.adminId } }]);
});

test("the token of the data folder goes to no other service", async () => {
  const data = join(folder, "data");
  await mkdir(data);
  await writeFile(join(data, "admin-token"), `${postern.admin.token}\n`);
  const env = { POSTERN_DATA_DIR: data, PORT: new URL(postern.url).port };
  expect((await program(["call", "AccountService/GetMe"], { env })).code).toBe(0);
  const elsewhere = ["call", "AccountService/GetMe", "--url", postern.url];
  expect((await program(elsewhere, { env: { ...env, PORT: "1" } })).code).toBe(4);
});
