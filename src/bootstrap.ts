import { randomInt } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import {
  adminLoginName,
  checkPending,
  readSecret,
  settlePending,
  userOfPasswordFile,
  userOfToken,
  writePending,
} from "./admin_files.ts";
import type { Config } from "./config.ts";
import { systemCall } from "./deps.ts";
import { reasonOf } from "./errors.ts";
import { type At, factOf, first, next, type Versioned } from "./events/fact.ts";
import { lostRace } from "./events/log.ts";
import { StartError } from "./postgres/failure.ts";
import { createLogger, openRuntime, type Runtime } from "./runtime.ts";
import { retryWhileFull } from "./security/password.ts";
import { hashToken, isWellFormed, newToken } from "./security/token.ts";

/** Opens the database, completes the first organization, and prints the first calls. */
export async function bootstrap(config: Config): Promise<readonly string[]> {
  await using runtime = await openRuntime(config, { logger: createLogger(config), join: true });
  await bootstrapInstance(runtime, config);
  return await howToBegin(runtime, config, `http://${config.host}:${config.port}`);
}

/**
 * Creates the first organization with its administrator and a sample project, unless there is one; answers whether it did.
 * When it ends, there is an administrator, and the files of the data folder are those of the administrator.
 */
export async function bootstrapInstance(runtime: Runtime, config: Config): Promise<boolean> {
  const { dataDir } = config;
  const [any] = await runtime.deps.sql`select 1 from organizations limit 1`;
  const created = !any && (await createFirst(runtime, config));
  const files = await checkPending(runtime, dataDir);
  // Valid files of an earlier start: it ended after the administrator was created and before it was done.
  if (created || files.some(({ valid }) => valid)) await addSampleRoles(runtime);
  await settlePending(files, dataDir);
  return created;
}

/** Creates the first organization; false when another node was faster. */
async function createFirst(runtime: Runtime, config: Config): Promise<boolean> {
  const { dataDir, adminToken } = config;
  const secrets = { token: tokenOf(config), password: newPassword() };
  // The secrets are written first: a crash in between must not leave an administrator whose secrets nobody has.
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  const token = adminToken ? {} : { "admin-token": secrets.token };
  await writePending(runtime, dataDir, { ...token, "admin-password": secrets.password });
  try {
    await create(runtime, secrets);
  } catch (error) {
    if (reasonOf(error) !== "CONFLICT") throw error;
    runtime.logger.info("another node created the first administrator, and its data folder holds the first secrets");
    return false;
  }
  runtime.logger.info(`created the first administrator; its first secrets are in ${dataDir}`);
  if (process.stdout.isTTY) process.stdout.write(`first password of admin: ${secrets.password}\n`);
  return true;
}

/**
 * Makes the first calls: one for each of the four operations, in this order, ready to be pasted into a shell. A call that
 * cannot work any more is left out, or a shell comment names an alternative.
 */
export async function howToBegin(runtime: Runtime, config: Config, url: string): Promise<readonly string[]> {
  const folder = quoted(config.dataDir);
  const token = config.adminToken ?? (await readSecret(join(config.dataDir, "admin-token")));
  const userId = token && (await userOfToken(runtime, token));
  if (!userId) {
    const place = config.adminToken ? "POSTERN_ADMIN_TOKEN" : `${folder}/admin-token`;
    return [`# ${place} is not the token of a user of this instance: use a token of an administrator, or sign in`];
  }
  const bearer = config.adminToken ? "$POSTERN_ADMIN_TOKEN" : `$(cat ${folder}/admin-token)`;
  const call: CallText = (method, path, body) =>
    `curl -X ${method} ${url}/v1/${path} -H "authorization: Bearer ${bearer}" -H 'content-type: application/json' -d ${body}`;
  const isFirst = (await userOfPasswordFile(runtime, config.dataDir)) === userId;
  const projectId = await sampleProjectOf(runtime, userId);
  return [
    isFirst ? changePassword(call, `$(cat ${folder}/admin-password)`) : `# ${setPassword(call, userId)}`,
    ...(projectId ? [createApplication(call, projectId)] : []),
    call("POST", `users/${userId}/phone`, `'{"phone": "+41 44 668 18 00", "returnCode": {}}'`),
    ...(projectId ? [addUserGrant(call, { userId, projectId })] : []),
  ];
}

/** Writes a call as a shell line. */
type CallText = (method: string, path: string, body: string) => string;

const changePassword = (call: CallText, password: string) =>
  call("PUT", "users/me/password", `"{\\"oldPassword\\": \\"${password}\\", \\"newPassword\\": \\"${password}-2\\"}"`);

const setPassword = (call: CallText, userId: string) =>
  `the first password was changed; to set $NEW_PASSWORD: ${call("PUT", `users/${userId}/password`, '"{\\"newPassword\\": \\"$NEW_PASSWORD\\"}"')}`;

const createApplication = (call: CallText, projectId: string) =>
  call(
    "POST",
    `projects/${projectId}/applications/oidc`,
    `'{"name": "My app", "redirectUris": ["https://app.example.com/callback"]}'`,
  );

const addUserGrant = (call: CallText, { userId, projectId }: { userId: string; projectId: string }) =>
  call("POST", `users/${userId}/grants`, `'{"projectId": "${projectId}", "roleKeys": ["viewer"]}'`);

/** The first project in the user's organization that has the role of the sample project. */
async function sampleProjectOf({ deps }: Runtime, userId: string): Promise<string | undefined> {
  const [project] = await deps.sql<{ id: string }[]>`
    select p.project_id as id from users u join projects p on p.owner = u.owner
    join project_roles r on r.project_id = p.project_id and r.role_key = 'viewer'
    where u.user_id = ${userId} order by p.project_id limit 1`;
  return project?.id;
}

const sampleProject = "Sample project";

async function create({ deps, instanceId }: Runtime, { token, password }: { token: string; password: string }) {
  const { log, ids, clock, secrets } = deps;
  const time = clock();
  const at = (owner: string, stream = ids()): At => first(owner, stream, time);
  const organization = ids();
  const user = at(organization);
  // The port listens already: sign-ins may fill the queue.
  const hash = await retryWhileFull(() => secrets.passwords.hash(password));
  const name = { username: "admin", loginName: adminLoginName, givenName: "First", familyName: "Administrator" };
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
      factOf("project", at(organization), { case: "created", value: { name: sampleProject } }),
    ],
    undefined,
  );
}

const sampleRoles = { viewer: "Viewer", editor: "Editor" };

/** Adds the missing roles of the sample project; another node may be doing the same. */
async function addSampleRoles({ deps }: Runtime): Promise<void> {
  const { log, sql, clock, ids } = deps;
  for (const [key, displayName] of Object.entries(sampleRoles)) {
    const add = async (): Promise<unknown> => {
      const [project] = await sql<Versioned[]>`
        select p.owner, p.project_id as id, p.version, p.created, p.changed
        from login_names l join projects p on p.owner = l.owner and p.name = ${sampleProject}
        where l.login_name = ${adminLoginName} and not exists (
          select from project_roles r where r.project_id = p.project_id and r.role_key = ${key})`;
      if (!project) return true;
      const added = factOf("project", next(project, clock()), { case: "roleAdded", value: { key, displayName } });
      return log.append(systemCall(ids()), [added], true).catch(lostRace);
    };
    while (!(await add()));
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

const quoted = (path: string) => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`);
