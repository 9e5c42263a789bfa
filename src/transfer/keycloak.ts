import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError } from "../config/setting.ts";
import { lost } from "./import_note.ts";
import { isNamed, listOf, type Named, text, textsOf } from "./json.ts";
import { clientOf } from "./keycloak_client.ts";
import { userOf } from "./keycloak_user.ts";
import type { SourceItem } from "./source.ts";

/** The maximum size of a file, which is read as a whole. Keycloak itself splits larger realms into several files. */
const largestFile = 256 << 20;

/**
 * Reads a Keycloak realm export, a file or a folder of several, as a project with the realm's roles, and its clients' roles as
 * `client/role`; its OpenID Connect clients as applications; and its users with their password hashes and a grant of their roles.
 */
export async function* keycloakRealm(path: string): AsyncGenerator<SourceItem> {
  const files = await filesOf(path);
  const realm = await read(files.realm);
  const project = text(realm.realm) || text(realm.id);
  const roles = rolesOf(realm);
  if (realm.roles) yield { at: "roles", end: 0, json: { project: { name: project, roles } } };
  const claims = { scopes: scopesOf(realm), hasClientRoles: roles.some(({ key }) => key.includes("/")) };
  for (const [n, client] of listOf(realm.clients).entries())
    if (!ownClients.includes(text(client.clientId)))
      yield { at: `clients[${n}]`, end: 0, kind: "application", ...clientOf(client, project, claims) };
  for (const [n, provider] of listOf(realm.identityProviders).entries())
    yield {
      at: `identityProviders[${n}]`,
      end: 0,
      kind: "project",
      notes: [lost(`the identity provider ${text(provider.alias)}`)],
    };
  // A grant needs its user to exist, so the user files are read twice.
  yield* usersOf(files, realm, 0, ({ at, end }, user) => ({ at, end, kind: "user", ...userOf(user) }));
  yield* usersOf(files, realm, 1, ({ at, end }, user) => {
    const roleKeys = keysOf(user);
    return roleKeys.length > 0 ? { at, end, json: { grant: { project, roleKeys, ...nameOf(user) } } } : undefined;
  });
}

/** The total size of an export's files. */
export const keycloakBytes = async (path: string): Promise<number> => (await filesOf(path)).bytes;

type Files = { readonly realm: string; readonly users: readonly string[]; readonly bytes: number };
type Where = Pick<SourceItem, "at" | "end">;

/** Finds the files of an export: `kc.sh export --dir` writes `shop-realm.json`, `shop-users-0.json` and so on. */
async function filesOf(path: string): Promise<Files> {
  const { size, isFolder } = await stat(path).then((found) => ({ size: found.size, isFolder: found.isDirectory() }));
  if (!isFolder) return { realm: path, users: [], bytes: size };
  const names = await readdir(path);
  const realms = names.filter((name) => name.endsWith("-realm.json"));
  const [realm, ...others] = realms;
  if (realm === undefined || others.length > 0)
    throw new ConfigError(
      realm === undefined
        ? `${path} contains no export of a realm: one file must have a name like shop-realm.json`
        : `${path} contains ${realms.length} realms: pass the file of one, or give each a folder of its own`,
    );
  const prefix = realm.slice(0, -"realm.json".length);
  const numbered = new Intl.Collator("en", { numeric: true });
  const users = names
    .filter((name) => name.startsWith(prefix) && /^(?:federated-)?users-\d+\.json$/.test(name.slice(prefix.length)))
    .sort(numbered.compare);
  const all = await Promise.all([realm, ...users].map(async (name) => (await stat(join(path, name))).size));
  const bytes = all.reduce((sum, one) => sum + one, 0);
  return { realm: join(path, realm), users: users.map((name) => join(path, name)), bytes };
}

/** Reads the users from the realm's own file, then from the others; `turn` is 0 or 1, because they are read twice. */
async function* usersOf(
  { users, bytes }: Files,
  realm: Named,
  turn: 0 | 1,
  itemOf: (where: Where, user: Named) => SourceItem | undefined,
): AsyncGenerator<SourceItem> {
  const sources = [undefined, ...users];
  for (const [place, file] of sources.entries()) {
    const found = listOf((file === undefined ? realm : await read(file)).users);
    for (const [n, user] of found.entries()) {
      const share = (turn + (place + n / found.length) / sources.length) / 2;
      const at = file === undefined ? `users[${n}]` : `${file} users[${n}]`;
      const item = itemOf({ at, end: Math.round(bytes * share) }, user);
      if (item) yield item;
    }
  }
}

async function read(path: string): Promise<Named> {
  const { size } = await stat(path);
  if (size > largestFile)
    throw new ConfigError(
      `${path} is larger than ${largestFile} bytes: export the realm with its users in several files`,
    );
  try {
    const realm: unknown = JSON.parse(await readFile(path, "utf8"));
    if (isNamed(realm)) return realm;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new ConfigError(`${path} is not an export of a realm: it must be a single JSON object`);
}

// Every realm has these by default.
const ownRoles = /^(?:offline_access|uma_authorization|default-roles-.*)$/;
const ownClients = ["account", "account-console", "admin-cli", "broker", "realm-management", "security-admin-console"];

const scopesOf = ({ clientScopes }: Named): ReadonlyMap<string, Named> =>
  new Map(listOf(clientScopes).map((scope) => [text(scope.name), scope]));

function rolesOf({ roles }: Named): { key: string; displayName: string }[] {
  if (!isNamed(roles)) return [];
  const ofRealm = listOf(roles.realm).flatMap(({ name }) => (ownRoles.test(text(name)) ? [] : text(name)));
  const ofClients = isNamed(roles.client) ? Object.entries(roles.client) : [];
  const all = [
    ...ofRealm,
    ...ofClients.flatMap(([client, list]) =>
      ownClients.includes(client) ? [] : listOf(list).map(({ name }) => `${client}/${text(name)}`),
    ),
  ];
  return all.map((key) => ({ key, displayName: key }));
}

function keysOf({ realmRoles, clientRoles }: Named): string[] {
  const ofRealm = textsOf(realmRoles).filter((role) => !ownRoles.test(role));
  const ofClients = isNamed(clientRoles) ? Object.entries(clientRoles) : [];
  return [
    ...ofRealm,
    ...ofClients.flatMap(([client, list]) =>
      ownClients.includes(client) ? [] : textsOf(list).map((role) => `${client}/${role}`),
    ),
  ];
}

const nameOf = ({ id, username }: Named) => (text(id) ? { userId: text(id) } : { username: text(username) });
