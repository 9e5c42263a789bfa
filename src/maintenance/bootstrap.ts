import { randomInt } from "node:crypto";
import type { Config } from "../config/config.ts";
import { makeDataFolder } from "../config/data_folder.ts";
import { localAddress, localUrl } from "../config/local_address.ts";
import { createLogger } from "../config/logger.ts";
import { systemCall } from "../deps.ts";
import { reasonOf } from "../errors.ts";
import { type At, factOf, first, next, type Versioned } from "../events/fact.ts";
import { lostRace } from "../events/log.ts";
import { StartError } from "../postgres/failure.ts";
import { openRuntime, type Runtime } from "../runtime/runtime.ts";
import { retryWhileFull } from "../security/password.ts";
import { hashToken, isWellFormed, newToken } from "../security/token.ts";
import { adminLoginName, checkPending, settlePending, writePending } from "./admin_files.ts";
import { howToBegin } from "./first_calls.ts";

/** Opens the database, completes the first organization, and prints the first calls. */
export async function bootstrap(config: Config): Promise<readonly string[]> {
  await using runtime = await openRuntime(config, { logger: createLogger(config), join: true });
  await bootstrapInstance(runtime, config);
  const address = await localAddress(config);
  const blocks = (await howToBegin(runtime, config, address)).flatMap((block, at) => (at > 0 ? ["", block] : [block]));
  const { url } = address;
  if (await answers(localUrl(config))) return blocks;
  return [...blocks, "", `# nothing responds at ${url}: start the service before you call it`];
}

const longestProbeMs = 2_000;

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(longestProbeMs) });
    await response.body?.cancel();
    return true;
  } catch (error) {
    // A certificate that this process does not trust also counts as a response, because callers may trust it.
    return error instanceof Error && /CERT|SIGNATURE|ALTNAME/.test(codeOf(error.cause));
  }
}

const codeOf = (cause: unknown): string => (cause instanceof Error && "code" in cause ? String(cause.code) : "");

/**
 * Creates the first organization with its administrator and a sample project, unless one exists; returns whether it did. Afterwards there
 * is an administrator, and the files in the data folder are theirs.
 */
export async function bootstrapInstance(runtime: Runtime, config: Config): Promise<boolean> {
  const { dataDir } = config;
  const [any] = await runtime.deps.sql`select 1 from organizations limit 1`;
  const created = !any && (await createFirst(runtime, config));
  const files = await checkPending(runtime, dataDir);
  // Valid files come from an earlier start that ended between creating the administrator and finishing.
  if (created || files.some(({ valid }) => valid)) await addSampleRoles(runtime);
  await settlePending(files, dataDir);
  return created;
}

/** Creates the first organization; false if another node was faster. */
async function createFirst(runtime: Runtime, config: Config): Promise<boolean> {
  const { dataDir, adminToken } = config;
  const secrets = { token: tokenOf(config), password: newPassword() };
  // The secrets are written first: a crash in between must not leave an administrator whose secrets nobody has.
  await makeDataFolder(dataDir);
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
  return true;
}

const sampleProject = "Sample project";

async function create({ deps, instanceId }: Runtime, { token, password }: { token: string; password: string }) {
  const { log, ids, clock, secrets } = deps;
  const time = clock();
  const at = (owner: string, stream = ids()): At => first(owner, stream, time);
  const organization = ids();
  const user = at(organization);
  // The port is already open, so sign-ins may fill the queue.
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

/** Adds the missing roles of the sample project, which another node may be doing at the same time. */
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
    throw new StartError(
      "POSTERN_ADMIN_TOKEN must have at least 32 characters, and must not start like one of Postern's own tokens",
    );
  return adminToken;
}

const letters = ["ABCDEFGHJKLMNPQRSTUVWXYZ", "abcdefghijkmnopqrstuvwxyz", "23456789"] as const;

/** A random password that satisfies the default policy: four groups, over 100 bits. */
function newPassword(): string {
  const group = () => letters.map((set) => pick(set) + pick(set)).join("");
  return [group(), group(), group(), group()].join("-");
}

const pick = (set: string): string => set.charAt(randomInt(set.length));
