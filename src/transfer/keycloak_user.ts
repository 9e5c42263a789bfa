import type { JsonObject } from "@bufbuild/protobuf";
import { base32Bytes, base32Of } from "../security/totp.ts";
import { changed, lost, type Note } from "./import_note.ts";
import { isNamed, listOf, type Named, text, textsOf } from "./json.ts";
import { type MetadataPart, metadataOf } from "./metadata.ts";

/** The line of a user, and notes on what it lacks. */
export type UserLine = { readonly json: JsonObject; readonly notes: readonly Note[] };

/** Converts a Keycloak user to a line for an import. All protection of the user is either transferred or compensated for. */
export function userOf(user: Named): UserLine {
  const username = text(user.username);
  const inactive = user.enabled === false ? { inactive: true } : {};
  const attributes = attributesOf(user);
  if (user.serviceAccountClientId !== undefined) {
    const notes = [lost("its client credentials; the machine user needs an access token instead (CreateAccessToken)")];
    const machine = { username, name: username, ...idOf(user), ...attributes.fields };
    return { json: { machine, ...inactive }, notes: [...notes, ...attributes.notes] };
  }
  const actions = textsOf(user.requiredActions);
  const [password, factor] = [passwordOf(user, actions), factorOf(user, actions)];
  const human = {
    username,
    email: text(user.email),
    givenName: text(user.firstName) || username,
    familyName: text(user.lastName) || username,
    ...idOf(user),
    ...languageOf(user),
    ...(user.emailVerified === true && !actions.includes("VERIFY_EMAIL") ? { isEmailVerified: true } : {}),
    ...password.fields,
    ...factor.fields,
    ...attributes.fields,
  };
  const notes = [...password.notes, ...factor.notes, ...leftBehind(user, actions), ...attributes.notes];
  return { json: { human, ...inactive }, notes };
}

const idOf = ({ id }: Named) => (text(id) ? { userId: text(id) } : {});

/** The preferred language, which Keycloak keeps as an attribute. */
function languageOf({ attributes }: Named): JsonObject {
  const [tag = ""] = textsOf(isNamed(attributes) ? attributes.locale : undefined);
  const language = tag.replaceAll("_", "-");
  return /^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$/.test(language) ? { language } : {};
}

type Part = { readonly fields: JsonObject; readonly notes: readonly Note[] };

function passwordOf(user: Named, actions: readonly string[]): Part {
  const stored = listOf(user.credentials).find((one) => hashOf(one) !== undefined);
  const hash = stored && hashOf(stored);
  if (!hash) {
    const why = text(user.federationLink) ? "its password, which is in another directory" : "a password: it has none";
    return { fields: {}, notes: [lost(`${why}. InviteUser lets the user choose one`)] };
  }
  const mustChange = stored?.temporary === true || actions.includes("UPDATE_PASSWORD");
  return { fields: { passwordHash: hash, ...(mustChange ? { passwordChangeRequired: true } : {}) }, notes: [] };
}

const secondFactors = ["otp", "totp", "hotp", "webauthn", "recovery-authn-codes"];
const enrolling = ["CONFIGURE_TOTP", "webauthn-register", "webauthn-register-passwordless"];

/**
 * Transfers an authenticator app if we can check its codes. Users with only other factors must enrol one first, and so must those with
 * passkeys: each is as strong as two factors, and only the password would be left of them.
 */
function factorOf(user: Named, actions: readonly string[]): Part {
  const credentials = listOf(user.credentials);
  const factors = credentials.filter(({ type }) => secondFactors.includes(text(type)));
  const secrets = factors.flatMap((one) => totpSecretOf(one) ?? []);
  const hasPasskeys = credentials.some(({ type }) => text(type) === "webauthn-passwordless");
  const notes = hasPasskeys
    ? [lost("its passkeys for sign-in without a password, which work only at the old address")]
    : [];
  const [totpSecret] = secrets;
  if (totpSecret !== undefined) {
    const others = factors.length > 1 ? [lost("its other second factors; one authenticator app was imported")] : [];
    return { fields: { totpSecret }, notes: [...notes, ...others] };
  }
  const had = factors.length > 0 || hasPasskeys;
  if (!had && !actions.some((one) => enrolling.includes(one))) return { fields: {}, notes };
  const why = had ? "its second factor could not be imported" : "it had to enrol a second factor";
  const marked = changed(`${why}: the user has to enrol one at the next sign-in`);
  return { fields: { requiresFactor: true }, notes: [...notes, marked] };
}

/** The secret, in Base32, of an authenticator app with our parameters; Keycloak's own secrets are the bytes of a text. */
function totpSecretOf({ type, secretData, credentialData }: Named): string | undefined {
  const [secret, data] = [inner(secretData), inner(credentialData)];
  const isOurs = data.subType === "totp" && data.algorithm === "HmacSHA1" && data.digits === 6 && data.period === 30;
  const value = text(secret.value);
  if (text(type) !== "otp" || !isOurs || value === "") return undefined;
  const bytes = data.secretEncoding === "BASE32" ? base32Bytes(value) : Buffer.from(value);
  return bytes.length >= 10 && bytes.length <= 64 ? base32Of(bytes) : undefined;
}

const known = ["UPDATE_PASSWORD", "VERIFY_EMAIL", ...enrolling];

/** The attributes that we take, other than the preferred language. Each is a list of texts, usually of one. */
function attributesOf(user: Named): MetadataPart {
  const attributes = isNamed(user.attributes) ? Object.entries(user.attributes) : [];
  const isTaken = (name: string) => name === "locale" && languageOf(user).language !== undefined;
  const plain = (value: unknown) => (Array.isArray(value) && value.length === 1 ? value[0] : value);
  return metadataOf(attributes.flatMap(([name, value]) => (isTaken(name) ? [] : [[name, plain(value)] as const])));
}

function leftBehind(user: Named, actions: readonly string[]): Note[] {
  const has = (name: string) => textsOf(user[name]).length > 0 || listOf(user[name]).length > 0;
  return [
    ...actions.filter((one) => !known.includes(one)).map((one) => lost(`the required action ${one}`)),
    ...(has("groups") ? [lost("the roles of its groups")] : []),
    ...(has("federatedIdentities") ? [lost("its sign-in by another identity provider")] : []),
  ];
}

/** The PHC form of a password stored by Keycloak; undefined for any other credential. */
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
