import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { compiled } from "../compiled.ts";
import { type Postern, startPostern } from "../harness.ts";
import { program } from "../program.ts";

/** The service of this file. */
export let postern: Postern;
/** The folder of its files. */
export let folder: string;

/** Sets the scene of a file's tests. */
export function setScene(): void {
  beforeAll(async () => {
    postern = await startPostern();
    folder = await mkdtemp(join(tmpdir(), "postern-import-"));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
    await postern[Symbol.asyncDispose]();
  });
}

/** Runs the program against the service of this file. */
export function run(...args: string[]) {
  const env = { ...compiled, POSTERN_ADMIN_TOKEN: postern.config.adminToken };
  return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) =>
    execFile(process.execPath, [program, ...args, "--url", postern.url], { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    ),
  );
}

/** Writes a file, and answers its path. */
export async function file(text: string): Promise<string> {
  const path = join(folder, randomBytes(6).toString("hex"));
  await writeFile(path, text);
  return path;
}

/** Writes a file of lines. */
export const ndjson = (...lines: object[]) => file(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
/** A name that nobody has. */
export const named = (what: string) => `${what}-${randomBytes(6).toString("hex")}`;
/** A line of a person. */
export const human = (username = named("u"), more: object = {}) => ({
  human: { username, givenName: "Ada", familyName: "Byron", email: "ada@example.com", ...more },
});
/** Signs in by a password. */
export const signIn = (loginName: string, password: string) =>
  postern.as().post("/v1/sessions", { loginName, password });
/** The header that names an organization. */
export const at = (organizationId: string) => ({ "x-service-orgid": organizationId });

/** Everything of an organization. */
export async function within(organizationId: string) {
  const read = async (path: string) => (await postern.admin.get(path, at(organizationId))).body;
  const { users } = await read("/v1/users?pageSize=1000");
  const { projects } = await read("/v1/projects?pageSize=1000");
  const { userGrants } = await read("/v1/user-grants?pageSize=1000");
  const apps = [];
  for (const { id } of projects) apps.push(...(await read(`/v1/projects/${id}/applications`)).applications);
  return { users, projects, userGrants, apps };
}

/** The refused items of an import. */
export const refusedOf = async (path: string) =>
  (await readFile(`${path}.refused`, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

/** A hash of "password" as Keycloak stores it. */
export const pbkdf2 = { value: "kLtBogW4eLlXuMmJLo2X0vnwlXzAfkUerdCnyyrFaVc=", salt: "yMnKy8zNzs/Q0dLT1NXW1w==" };
/** A hash of "password". */
export const bcrypt = "$2b$05$CCCCCCCCCCCCCCCCCCCCC.aDV7CQarKHMuNfh2oJkFzsHZya4whFe";
