import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { ConfigError } from "../setting.ts";
import type { SourceItem } from "./source.ts";

/** The most bytes of a realm in one file: it is read as a whole. Keycloak itself writes larger ones in several files. */
const largestRealm = 256 << 20;

type Named = Readonly<Record<string, unknown>>;

/**
 * Reads the export of a realm of Keycloak: a project with the realm's roles, and those of its clients as `client/role`; its
 * clients of OpenID Connect as applications; its users with their password hashes, and a grant of the roles that each has.
 */
export async function* keycloakRealm(path: string): AsyncGenerator<SourceItem> {
  const { size } = await stat(path);
  if (size > largestRealm)
    throw new ConfigError(
      `${path} has more than ${largestRealm} bytes: export the realm with its users in several files`,
    );
  const realm = parsed(await readFile(path, "utf8"), path);
  const project = text(realm.realm) || text(realm.id);
  const end = (done: number, of: number) => Math.round((size * done) / Math.max(1, of));
  if (realm.roles) yield { at: "roles", end: 0, json: { project: { name: project, roles: rolesOf(realm) } } };
  for (const [n, client] of listOf(realm.clients).entries())
    if (isOidc(client))
      yield { at: `clients[${n}]`, end: 0, json: { application: { project, ...applicationOf(client) } } };
  const users = listOf(realm.users);
  for (const [n, user] of users.entries())
    yield { at: `users[${n}]`, end: end(n, 2 * users.length), json: userOf(user) };
  for (const [n, user] of users.entries()) {
    const roleKeys = keysOf(user);
    const json = { grant: { project, roleKeys, ...nameOf(user) } };
    if (roleKeys.length > 0) yield { at: `users[${n}]`, end: end(users.length + n, 2 * users.length), json };
  }
}

function parsed(json: string, path: string): Named {
  try {
    const realm: unknown = JSON.parse(json);
    if (isNamed(realm)) return realm;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new ConfigError(`${path} is no export of a realm: it must be one object of JSON`);
}

// Every realm has them, and nobody made them.
const ownRoles = /^(?:offline_access|uma_authorization|default-roles-.*)$/;
const ownClients = ["account", "account-console", "admin-cli", "broker", "realm-management", "security-admin-console"];

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

const isOidc = ({ clientId, protocol = "openid-connect" }: Named): boolean =>
  protocol === "openid-connect" && !ownClients.includes(text(clientId));

function applicationOf(client: Named): JsonObject {
  const clientId = text(client.clientId);
  const attributes = isNamed(client.attributes) ? client.attributes : {};
  const isPublic = client.publicClient === true;
  // The administration console masks secrets in what it exports: asterisks are none.
  const secret = isPublic || /^\*+$/.test(text(client.secret)) ? "" : text(client.secret);
  const logout = text(attributes["post.logout.redirect.uris"]).split("##");
  return {
    name: text(client.name) || clientId,
    clientId,
    redirectUris: textsOf(client.redirectUris),
    postLogoutRedirectUris: logout.filter((uri) => uri !== "" && uri !== "+" && uri !== "-"),
    backChannelLogoutUri: text(attributes["backchannel.logout.url"]),
    // A plus stands for the origins of the redirect URIs, which are allowed in any case.
    additionalOrigins: textsOf(client.webOrigins).filter((origin) => /^https?:/.test(origin)),
    ...flowOf(client, attributes),
    authMethodType: isPublic ? "OIDC_AUTH_METHOD_TYPE_NONE" : "OIDC_AUTH_METHOD_TYPE_BASIC",
    ...(secret ? { clientSecretHash: createHash("sha256").update(secret).digest("hex") } : {}),
  };
}

function flowOf(client: Named, attributes: Named): JsonObject {
  const isCode = client.standardFlowEnabled !== false;
  const isImplicit = client.implicitFlowEnabled === true;
  const isDevice = text(attributes["oauth2.device.authorization.grant.enabled"]) === "true";
  const chosen = (pairs: readonly (readonly [boolean, string])[]) => pairs.flatMap(([is, name]) => (is ? name : []));
  return {
    responseTypes: chosen([
      [isCode, "OIDC_RESPONSE_TYPE_CODE"],
      [isImplicit, "OIDC_RESPONSE_TYPE_ID_TOKEN"],
      [isImplicit, "OIDC_RESPONSE_TYPE_ID_TOKEN_TOKEN"],
    ]),
    grantTypes: chosen([
      [isCode, "OIDC_GRANT_TYPE_AUTHORIZATION_CODE"],
      [isCode, "OIDC_GRANT_TYPE_REFRESH_TOKEN"],
      [isImplicit, "OIDC_GRANT_TYPE_IMPLICIT"],
      [isDevice, "OIDC_GRANT_TYPE_DEVICE_CODE"],
    ]),
  };
}

function userOf(user: Named): JsonObject {
  const username = text(user.username);
  const inactive = user.enabled === false ? { inactive: true } : {};
  if (user.serviceAccountClientId !== undefined)
    return { machine: { username, name: username, ...idOf(user) }, ...inactive };
  const hash = listOf(user.credentials)
    .map(hashOf)
    .find((one) => one !== undefined);
  const human = {
    username,
    email: text(user.email),
    givenName: text(user.firstName) || username,
    familyName: text(user.lastName) || username,
    ...idOf(user),
    ...(hash ? { passwordHash: hash } : {}),
  };
  return { human, ...inactive };
}

const idOf = ({ id }: Named) => (text(id) ? { userId: text(id) } : {});
const nameOf = ({ id, username }: Named) => (text(id) ? { userId: text(id) } : { username: text(username) });

/** The PHC form of a password that Keycloak stores; undefined for any other credential. */
function hashOf({ type, secretData, credentialData }: Named): string | undefined {
  if (type !== "password") return undefined;
  const [secret, data] = [inner(secretData), inner(credentialData)];
  const [salt, tag, algorithm] = [unpadded(secret.salt), unpadded(secret.value), text(data.algorithm)];
  const rounds = String(data.hashIterations);
  if (algorithm !== "argon2") return `$${algorithm}$i=${rounds}$${salt}$${tag}`;
  const more = isNamed(data.additionalParameters) ? data.additionalParameters : {};
  const of = (name: string) => textsOf(more[name])[0] ?? "";
  const version = of("version") === "1.0" ? 16 : 19;
  return `$argon2${of("type")}$v=${version}$m=${of("memory")},t=${rounds},p=${of("parallelism")}$${salt}$${tag}`;
}

/** Keycloak writes JSON as a text within JSON. */
function inner(json: unknown): Named {
  try {
    const value: unknown = JSON.parse(text(json));
    return isNamed(value) ? value : {};
  } catch {
    return {};
  }
}

const unpadded = (base64: unknown): string => text(base64).replace(/=+$/, "");
const text = (value: unknown): string => (typeof value === "string" ? value : "");
const isNamed = (value: unknown): value is Named =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const listOf = (value: unknown): Named[] => (Array.isArray(value) ? value.filter(isNamed) : []);
const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
