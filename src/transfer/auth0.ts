import type { JsonObject } from "@bufbuild/protobuf";
import { changed, lost, type Note } from "./import_note.ts";
import { isNamed, listOf, type Named, text, textsOf } from "./json.ts";
import { type MetadataPart, metadataOf } from "./metadata.ts";
import { jsonLines, type SourceItem } from "./source.ts";

/** Reads the users that Auth0 exports as JSON lines, with their bcrypt hashes if Auth0's support added them. */
export async function* auth0Users(path: string): AsyncGenerator<SourceItem> {
  for await (const item of jsonLines(path))
    yield isNamed(item.json) ? { ...item, json: line(item.json), notes: notesOf(item.json) } : item;
}

function line(user: Named): JsonObject {
  const email = text(user.email);
  const username = text(user.username) || email;
  const [given, family] = namesOf(user);
  const hash = text(user.passwordHash);
  const id = idOf(user);
  return {
    human: {
      username,
      email,
      givenName: given || username,
      familyName: family || username,
      ...(id ? { userId: id } : {}),
      ...(user.email_verified === true ? { isEmailVerified: true } : {}),
      ...(hash ? { passwordHash: hash } : {}),
      ...(hasFactor(user) ? { requiresFactor: true } : {}),
      ...bothOf(user).fields,
    },
    ...(user.blocked === true ? { inactive: true } : {}),
  };
}

/** The id with its connection, such as `auth0|5f7c`; an export with hashes only has the second part. */
function idOf({ user_id: id, _id: object }: Named): string {
  const whole = text(id) || (isNamed(object) && text(object.$oid) ? `auth0|${text(object.$oid)}` : "");
  return whole.replaceAll("|", "_");
}

// A one-word name is the full name of a person with a single name. An email address in its place is not a name.
function namesOf({ given_name: given, family_name: family, name }: Named): readonly string[] {
  const words = text(name).includes("@") ? [] : text(name).split(/\s+/);
  return [text(given) || (words[0] ?? ""), text(family) || words.slice(1).join(" ")];
}

/**
 * Both kinds of metadata. Users of Auth0 may write their `user_metadata` themselves, so its keys get a prefix: applications that rely on
 * administrators' entries must not find the users' under the same key.
 */
function bothOf({ app_metadata: app, user_metadata: own }: Named): MetadataPart {
  const ofUser = Object.entries(isNamed(own) ? own : {}).map(
    ([key, value]) => [`user_metadata.${key}`, value] as const,
  );
  return metadataOf([...Object.entries(isNamed(app) ? app : {}), ...ofUser]);
}

/** Whether the user signs in with a second factor, whose secret no export contains. */
const hasFactor = (user: Named): boolean =>
  textsOf(user.multifactor).length > 0 || listOf(user.mfa_factors).length > 0 || user.mfa_enabled === true;

function notesOf(user: Named): Note[] {
  const others = listOf(user.identities).filter(({ provider }) => text(provider) !== "auth0");
  return [
    ...(hasFactor(user)
      ? [changed("its second factor could not be imported: the user has to enrol one at the next sign-in")]
      : []),
    ...(text(user.passwordHash) === ""
      ? [lost("its password, which is not in the export. InviteUser lets the user choose one")]
      : []),
    ...(others.length > 0 ? [lost("its sign-in by another identity provider")] : []),
    ...bothOf(user).notes,
  ];
}
