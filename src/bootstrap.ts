import { randomInt } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "./config.ts";
import { systemCall } from "./deps.ts";
import { reasonOf } from "./errors.ts";
import { type At, factOf, first } from "./events/fact.ts";
import { createLogger, type House, openHouse } from "./house.ts";
import { StartError } from "./postgres/failure.ts";
import { hashToken, isWellFormed, newToken } from "./security/token.ts";

/** Opens the database, creates what is missing of the first organization, and tells how to begin. */
export async function bootstrap(config: Config): Promise<readonly string[]> {
  await using house = await openHouse(config, { logger: createLogger(config), join: true });
  await bootstrapHouse(house, config);
  return howToBegin(house, config, `http://${config.host}:${config.port}`);
}

/** Creates the first organization with its administrator and a sample project, unless there is one; answers whether it did. */
export async function bootstrapHouse(house: House, config: Config): Promise<boolean> {
  const [any] = await house.deps.sql`select 1 from organizations limit 1`;
  if (any) return false;
  const token = tokenOf(config);
  const password = newPassword();
  // Written before anything is created: a crash in between must not leave an administrator that nobody can be.
  await mkdir(config.dataDir, { recursive: true, mode: 0o711 });
  if (!config.adminToken) await keep(join(config.dataDir, "admin-token"), token);
  await keep(join(config.dataDir, "admin-password"), password);
  try {
    await create(house, { token, password });
  } catch (error) {
    // Another node that started at the same time was faster.
    if (reasonOf(error) === "CONFLICT") return false;
    throw error;
  }
  if (process.stdout.isTTY) process.stdout.write(`first password of admin: ${password}\n`);
  return true;
}

/** The calls to begin with: one for each of the four operations, as they can be pasted into a shell, in this order. */
export async function howToBegin({ deps }: House, config: Config, url: string): Promise<readonly string[]> {
  const [begin] = await deps.sql<{ userId: string; projectId: string | null }[]>`
    select user_id as "userId", (select project_id from projects where owner = users.owner order by project_id limit 1) as "projectId"
    from users where username = 'admin' order by user_id limit 1`;
  if (!begin) return [];
  const folder = quoted(config.dataDir);
  const token = config.adminToken ? "$POSTERN_ADMIN_TOKEN" : `$(cat ${folder}/admin-token)`;
  const password = `$(cat ${folder}/admin-password)`;
  const call = (method: string, path: string, body: string) =>
    `curl -X ${method} ${url}/v1/${path} -H "authorization: Bearer ${token}" -H 'content-type: application/json' -d ${body}`;
  const { userId, projectId } = begin;
  return [
    call(
      "PUT",
      "users/me/password",
      `"{\\"oldPassword\\": \\"${password}\\", \\"newPassword\\": \\"${password}-2\\"}"`,
    ),
    call(
      "POST",
      `projects/${projectId}/applications/oidc`,
      `'{"name": "My app", "redirectUris": ["https://app.example.com/callback"]}'`,
    ),
    call("POST", `users/${userId}/phone`, `'{"phone": "+41 44 668 18 00", "returnCode": {}}'`),
    call("POST", `users/${userId}/grants`, `'{"projectId": "${projectId}", "roleKeys": ["viewer"]}'`),
  ];
}

async function create({ deps, instanceId }: House, { token, password }: { token: string; password: string }) {
  const { log, ids, clock, secrets } = deps;
  const time = clock();
  const at = (owner: string, stream = ids()): At => first(owner, stream, time);
  const organization = ids();
  const [user, project] = [at(organization), at(organization)];
  const hash = await secrets.passwords.hash(password);
  const name = { username: "admin", loginName: "admin", givenName: "First", familyName: "Administrator" };
  const member = { userId: user.stream, roles: ["INSTANCE_OWNER"] };
  await log.append(
    systemCall(ids()),
    [
      factOf("organization", at(organization, organization), {
        case: "created",
        value: { name: "First organization" },
      }),
      factOf("instance", at(instanceId, instanceId), { case: "created", value: {} }),
      factOf("user", user, { case: "humanCreated", value: { ...name, email: "admin@localhost" } }, { hash }),
      factOf(
        "accessToken",
        at(organization),
        { case: "created", value: { userId: user.stream } },
        { hash: hashToken(token).toString("hex") },
      ),
      factOf("member", at(instanceId), { case: "added", value: member }),
      factOf("project", project, { case: "created", value: { name: "Sample project" } }),
    ],
    undefined,
  );
  for (const [step, key] of ["viewer", "editor"].entries()) {
    const place = { ...project, version: BigInt(step + 2) };
    const role = { key, displayName: key === "viewer" ? "Viewer" : "Editor" };
    await log.append(systemCall(ids()), [factOf("project", place, { case: "roleAdded", value: role })], undefined);
  }
}

function tokenOf({ adminToken }: Config): string {
  if (!adminToken) return newToken("pt");
  if (!isWellFormed(adminToken))
    throw new StartError("POSTERN_ADMIN_TOKEN must have at least 32 characters and no prefix of ours");
  return adminToken;
}

const letters = ["ABCDEFGHJKLMNPQRSTUVWXYZ", "abcdefghijkmnopqrstuvwxyz", "23456789"] as const;

/** A random password that satisfies the default policy: four groups, over 100 bits. */
function newPassword(): string {
  const group = () => letters.map((set) => pick(set) + pick(set)).join("");
  return [group(), group(), group(), group()].join("-");
}

const pick = (set: string): string => set.charAt(randomInt(set.length));

async function keep(path: string, secret: string): Promise<void> {
  await writeFile(path, `${secret}\n`, { mode: 0o600, flush: true });
}

const quoted = (path: string) => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`);
