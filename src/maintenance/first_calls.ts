import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { type LocalAddress, quoted } from "../config/local_address.ts";
import { readSecret } from "../config/secret_file.ts";
import { type Permission, permissionsOf } from "../guards/permissions.ts";
import type { Sql } from "../postgres/pool/connect.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { membershipsRead } from "../services/callers/caller_lookups.ts";
import { userInForce } from "../services/callers/in_force.ts";
import { userOfPasswordFile, userOfToken } from "./admin_files.ts";

/**
 * The first calls to make, ready to paste into a shell: one for each of the four operations, labelled, in this order. Each is checked
 * against the state of the instance. In place of one that would fail, a shell comment says why, and what to do instead.
 */
export async function howToBegin(
  runtime: Runtime,
  config: Config,
  { url, curl }: LocalAddress,
): Promise<readonly string[]> {
  const folder = quoted(config.dataDir);
  const place = config.adminToken ? "POSTERN_ADMIN_TOKEN" : `${folder}/admin-token`;
  const token = config.adminToken ?? (await readSecret(join(config.dataDir, "admin-token")));
  const userId = token && (await userOfToken(runtime, token));
  if (!userId) return [`# ${place} is not the token of a user of this instance: ${freshToken}`];
  const holder = await holderOf(runtime.deps.sql, userId);
  if (!holder?.active) return [`# the user of ${place} is deactivated: ${freshToken}`];
  const bearer = config.adminToken ? "$POSTERN_ADMIN_TOKEN" : `$(cat ${folder}/admin-token)`;
  const call: CallText = (method, path, body) =>
    [
      `curl -X ${method} ${url}/v1/${path}`,
      ...curl,
      `-H "authorization: Bearer ${bearer}"`,
      "-H 'content-type: application/json'",
      `-d ${body}`,
    ].join(" \\\n  ");
  const inFile = (await userOfPasswordFile(runtime, config.dataDir)) === holder.id;
  const password = passwordCall({ call, holder, dataDir: config.dataDir, inFile });
  const texts = [password, applicationCall(call, holder), phoneCall(call, holder), grantCall(call, holder)];
  const calls = texts.map((text, index) => labelled(`${index + 1}. ${labels[index]}`, text));
  return password.startsWith("# ") ? calls : [inFile ? askForPassword : askForBoth, ...calls];
}

const readPassword = (name: string, shown: string) =>
  `stty -echo; printf '${shown} password: '; read -r ${name}; stty echo; echo`;

// Anything pasted along with one of these lines would be read as the password.
const askForPassword = `# First choose the administrator's new password: paste this line alone, then type the password
${readPassword("NEW_PASSWORD", "New")}`;

const askForBoth = `# First enter the administrator's password, and choose a new one: paste each line alone, then type the password
${readPassword("OLD_PASSWORD", "Present")}
${readPassword("NEW_PASSWORD", "New")}`;

const labels = [
  "Change the administrator's password to $NEW_PASSWORD",
  "Create an OIDC application; its client secret is shown only once",
  "Change a phone number; the response contains the code, and no SMS is sent",
  "Grant the user a role in the sample project",
];

/** Puts a label above a call, or before the comment in its place. */
const labelled = (label: string, text: string) =>
  text.startsWith("# ") ? `# ${label}: ${text.slice(2)}` : `# ${label}\n${text}`;

const freshToken = "use an administrator's token, or create one with `postern recover`";

/** A call as a shell command, over several lines. */
type CallText = (method: string, path: string, body: string) => string;

/** The token's user, and the state that decides whether the calls work. */
type Holder = {
  readonly id: string;
  readonly owner: string;
  readonly kind: string;
  readonly active: boolean;
  readonly hasPassword: boolean;
  /** The time until which wrong passwords block changes of the password. */
  readonly blockedUntil: Date | null;
  /** The first project in the user's organization that has the sample project's role. */
  readonly projectId: string | null;
  /** A name that no application of the project has. */
  readonly freeName: string | null;
  readonly isGranted: boolean;
  readonly permissions: ReadonlySet<Permission>;
};

async function holderOf(sql: Sql, userId: string): Promise<Holder | undefined> {
  const [row] = await sql<Omit<Holder, "permissions">[]>`
    select u.user_id as id, u.owner, u.kind, ${sql.unsafe(userInForce)} as active, p.project_id as "projectId",
      exists (select from passwords w where w.user_id = u.user_id) as "hasPassword",
      (select c.blocked_until from password_change_attempts c
       where c.user_id = u.user_id and c.blocked_until > now()) as "blockedUntil",
      (select n.name from generate_series(1, 1000) i cross join lateral (
         select case i when 1 then 'My app' else 'My app ' || i end as name) n
       where not exists (select from applications a where a.project_id = p.project_id and a.name = n.name)
       order by i limit 1) as "freeName",
      exists (select from user_grants g
        where g.user_id = u.user_id and g.project_id = p.project_id and g.project_grant_id is null) as "isGranted"
    from users u left join lateral (
      select p.project_id from projects p
      join project_roles r on r.project_id = p.project_id and r.role_key = 'viewer'
      where p.owner = u.owner and p.active order by p.project_id limit 1) p on true
    where u.user_id = ${userId}`;
  if (!row) return undefined;
  const memberships = await membershipsRead(sql)(userId);
  const held = memberships.filter(({ scope, id }) => scope === "instance" || id === row.owner);
  return { ...row, permissions: permissionsOf(held.flatMap(({ roles }) => roles)) };
}

/** The password call's user, and whether `admin-password` has the password. */
type PasswordPlace = {
  readonly call: CallText;
  readonly holder: Holder;
  readonly dataDir: string;
  readonly inFile: boolean;
};

function passwordCall({ call, holder, dataDir, inFile }: PasswordPlace): string {
  if (holder.kind !== "human") return "# a machine user has no password to change";
  if (!holder.hasPassword) return instead(call, holder, "the user has no password");
  if (holder.blockedUntil)
    return instead(
      call,
      holder,
      `after wrong passwords, it cannot be changed before ${holder.blockedUntil.toISOString()}`,
    );
  return call(
    "PUT",
    "users/me/password",
    // Within double quotes, the shell removes a backslash at the end of a line together with the line break.
    `"{\\"oldPassword\\": \\"${inFile ? `$(cat ${quoted(dataDir)}/admin-password)` : typed("OLD_PASSWORD")}\\", \\\n\\"newPassword\\": \\"${typed("NEW_PASSWORD")}\\"}"`,
  );
}

// JSON needs a backslash before quotation marks and backslashes.
const typed = (name: string) => `$(printf %s "$${name}" | sed 's/[\\\\"]/\\\\&/g')`;

/** Explains why the password cannot be changed, and how a user with permission can set it. */
function instead(call: CallText, { id, permissions }: Holder, why: string): string {
  if (!permissions.has("user.write")) return `# ${why}`;
  const other = call("PUT", `users/${id}/password`, `"{\\"newPassword\\": \\"${typed("NEW_PASSWORD")}\\"}"`);
  return [`# ${why}; to set $NEW_PASSWORD:`, ...other.split("\n")].join("\n# ");
}

const noProject = "# there is no project with the role viewer in the organization of the user";

function applicationCall(call: CallText, { projectId, freeName, permissions }: Holder): string {
  if (!permissions.has("app.write")) return lacks("app.write");
  if (!projectId || !freeName) return noProject;
  const body = `'{"name": "${freeName}", "redirectUris": ["https://app.example.com/callback"]}'`;
  return call("POST", `projects/${projectId}/applications/oidc`, body);
}

function phoneCall(call: CallText, { id, kind, permissions }: Holder): string {
  if (kind !== "human") return "# a machine user has no phone";
  if (!permissions.has("user.write")) return lacks("user.write");
  return call("POST", `users/${id}/phone`, `'{"phone": "+41 44 668 18 00", "returnCode": {}}'`);
}

function grantCall(call: CallText, { id, projectId, isGranted, permissions }: Holder): string {
  if (!permissions.has("user.grant.write")) return lacks("user.grant.write");
  if (!projectId) return noProject;
  if (isGranted) return `# the user already has roles in the project ${projectId}`;
  return call("POST", `users/${id}/grants`, `'{"projectId": "${projectId}", "roleKeys": ["viewer"]}'`);
}

const lacks = (permission: Permission) => `# the user of the token lacks the permission ${permission}`;
