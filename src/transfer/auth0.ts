import type { JsonObject } from "@bufbuild/protobuf";
import { jsonLines, type SourceItem } from "./source.ts";

/** Reads the users that Auth0 exports as JSON lines, with their bcrypt hashes where its support added them. */
export async function* auth0Users(path: string): AsyncGenerator<SourceItem> {
  for await (const item of jsonLines(path)) yield isUser(item.json) ? { ...item, json: line(item.json) } : item;
}

type Auth0User = Readonly<Record<string, unknown>>;

const isUser = (json: unknown): json is Auth0User => typeof json === "object" && json !== null && !Array.isArray(json);

function line(user: Auth0User): JsonObject {
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
      ...(hash ? { passwordHash: hash } : {}),
    },
    ...(user.blocked === true ? { inactive: true } : {}),
  };
}

/** The id with its connection, such as `auth0|5f7c`; an export with hashes has the second part only. */
function idOf({ user_id: id, _id: object }: Auth0User): string {
  const whole = text(id) || (isUser(object) && text(object.$oid) ? `auth0|${text(object.$oid)}` : "");
  return whole.replaceAll("|", "_");
}

// A name of one word is that of a person with one name; where an email address stands for the name, it is none.
function namesOf({ given_name: given, family_name: family, name }: Auth0User): readonly string[] {
  const words = text(name).includes("@") ? [] : text(name).split(/\s+/);
  return [text(given) || (words[0] ?? ""), text(family) || words.slice(1).join(" ")];
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
