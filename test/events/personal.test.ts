import { type DescField, type DescMessage, getOption, ScalarType } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { EventSchema } from "../../gen/postern/v1/event_pb.ts";
import { personal } from "../../gen/postern/v1/options_pb.ts";
import { descsByType } from "../../src/events/fact.ts";

const nounOf = (type: string) => type.split(".")[0] ?? "";

/** The types of event about a user: those of users, and of objects whose events name a user. */
function typesAboutUsers(): readonly (readonly [string, DescMessage])[] {
  const naming = descsByType().filter(([, { fields }]) => fields.some(({ name }) => name === "user_id"));
  const nouns = new Set(["user", ...naming.map(([type]) => nounOf(type))]);
  return descsByType().filter(([type]) => nouns.has(nounOf(type)));
}

/** The paths of texts and bytes that an erasure leaves as they are, except for ids. */
function textsLeft(desc: DescMessage, path = ""): string[] {
  return desc.fields.flatMap((field) => {
    const at = `${path}${field.name}`;
    if (getOption(field, personal)) return [];
    if (field.message) return field.message.typeName.startsWith("google.") ? [] : textsLeft(field.message, `${at}.`);
    return isText(field) && !/_ids?$/.test(field.name) ? [at] : [];
  });
}

const isText = ({ scalar, fieldKind }: DescField): boolean =>
  fieldKind === "map" || scalar === ScalarType.STRING || scalar === ScalarType.BYTES;

test("of events about a user, each text is personal, or stays after an erasure for a reason", () => {
  const events = [...typesAboutUsers(), ["origin", EventSchema.field.origin.message as DescMessage] as const];
  const left = events.map(([type, desc]) => [type, textsLeft(desc)] as const).filter(([, texts]) => texts.length > 0);
  expect(Object.fromEntries(left)).toEqual({
    // What somebody could do, in names that the contract gives.
    "access_token.created": ["permissions"],
    "attempt.permission_refused": ["operation", "permission"],
    "member.added": ["roles"],
    "member.changed": ["roles"],
    // How somebody signed in, in names of RFC 8176, and what kind of attempts were counted.
    "session.created": ["amr"],
    "session.unrestricted": ["amr"],
    "attempt.more": ["counts.type"],
    "invitation.created": ["memberships.roles", "grants.role_keys", "project_grant.role_keys"],
    // Which APIs a machine calls, and its public key: it is no person.
    "user.delegation_set": ["served_resources.uri", "target_resources.uri"],
    "machine_credential.created": ["kty", "kid", "alg", "use", "key_ops", "n", "e", "crv", "x", "y"].map(
      (member) => `public_key.${member}`,
    ),
    // What applications and projects call what they allow.
    "consent.given": ["scopes"],
    "delegation.begun": ["resource_uri", "scopes"],
    "user_grant.added": ["role_keys"],
    "user_grant.changed": ["role_keys"],
    "user_grant.role_removed": ["key"],
  });
});

test("only texts and whole messages are personal, which can be emptied or left out", () => {
  const all = descsByType().flatMap(([type, { fields }]) =>
    fields.filter((field) => getOption(field, personal)).map((field) => ({ type, field })),
  );
  expect(all.length).toBeGreaterThan(15);
  for (const { type, field } of all)
    expect([type, field.name, field.fieldKind === "message" || field.scalar === ScalarType.STRING]).toEqual([
      ...[type, field.name, true],
    ]);
  // A field within a message has no mark of its own: the whole message is personal.
  const inner = descsByType().flatMap(([type, { fields }]) =>
    fields.flatMap(({ message, name }) =>
      (message?.fields ?? []).filter((one) => getOption(one, personal)).map((one) => `${type} ${name}.${one.name}`),
    ),
  );
  expect(inner).toEqual([]);
});
