import { once } from "node:events";
import { createInterface } from "node:readline";
import { type DatabaseServer, postmasterOf, servePostern } from "../server.ts";
import { type SystemUnderTest, startSystem } from "../system_under_test.ts";
import { post } from "../users.ts";
import { cpuSecondsOfFamily } from "./process.ts";
import { registerApplications } from "./registered.ts";

/** The target of every attack: a database with users, on which servers are started one after the other. */
export type Target = {
  /** The token of the administrator. */
  readonly token: string;
  /** The token of a user who has no role. */
  readonly noRole: string;
  readonly start: () => Promise<Server>;
  /** Seconds of CPU that the database has used. */
  readonly databaseCpu: () => Promise<number>;
};

/** A server in a process of its own, which may hang. */
export type Server = AsyncDisposable & {
  readonly url: string;
  readonly pid: number;
  readonly hasExited: () => boolean;
  /** Bytes of the log until now, without calls that end well. */
  readonly logged: () => number;
};

/** Makes the database, and the user without a role. */
export async function prepareTarget(databases: DatabaseServer): Promise<Target> {
  await using system = await startSystem(databases, "hostile");
  const { env, token, databaseUrl } = system;
  const postmaster = await postmasterOf(databaseUrl);
  const noRole = await userWithoutRole(system);
  await registerApplications({ url: system.server.url, token });
  // A log like everybody's, an origin whose preflights are answered, and the issuer of a node behind a balancer.
  const ordinary = {
    LOG_LEVEL: "info",
    LOG_FORMAT: "json",
    CORS_ORIGINS: "https://app.example.com",
    PUBLIC_URL: issuer,
  };
  const settings = { ...env, ...ordinary, ...fromEverywhere };
  return {
    token,
    noRole,
    start: () => startServer(settings),
    databaseCpu: () => cpuSecondsOfFamily(postmaster),
  };
}

/** The URL that browsers know the target by. */
export const issuer = "https://id.example.com";

// Limits by address would refuse most of what one sender sends, and a refusal is cheap. Who attacks from many addresses pays none of them.
const fromEverywhere = {
  SIGN_IN_FAILURES_PER_ADDRESS_PER_MINUTE: "0",
  PASSWORD_RESETS_PER_ADDRESS_PER_MINUTE: "0",
  CALLS_PER_ADDRESS_PER_MINUTE: "0",
  UNKNOWN_TOKENS_PER_ADDRESS_PER_MINUTE: "0",
  DEVICE_CODES_PER_ADDRESS_PER_MINUTE: "1000000",
  PUSHED_REQUESTS_PER_ADDRESS_PER_MINUTE: "1000000",
  DEVICE_GUESSES_PER_ADDRESS_PER_MINUTE: "1000000",
  DEVICE_GUESSES_PER_MINUTE: "1000000",
};

async function userWithoutRole({ server: { url }, token }: SystemUnderTest): Promise<string> {
  const { userId } = await post(url, "/v1/users/machine", { body: { username: "norole", name: "No role" }, token });
  const made = await post(url, `/v1/users/${userId}/tokens`, { body: {}, token });
  return String(made.token);
}

async function startServer(env: Readonly<Record<string, string>>): Promise<Server> {
  const { url, child } = await servePostern({ env, output: "pipe" });
  let logged = 0;
  // The lines of calls that end well, those of the bystander among them, have nothing of what a client sent.
  child.stderr?.resume();
  if (child.stdout)
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (!line.includes('"code":"OK"')) logged += line.length + 1;
    });
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  return {
    url,
    pid: child.pid ?? 0,
    hasExited,
    logged: () => logged,
    async [Symbol.asyncDispose]() {
      if (hasExited()) return;
      const exit = once(child, "exit");
      // A server that hangs heeds nothing else.
      child.kill("SIGKILL");
      await exit;
    },
  };
}
