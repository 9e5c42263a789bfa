import { type DescField, type DescMethod, ScalarType } from "@bufbuild/protobuf";
import { describe } from "../../src/contract/describe.ts";
import { services } from "../../src/runtime/modules.ts";
import { largest } from "./skewed.ts";

/** A request for a list: its fields as JSON, and the names of those that filter. */
export type ListRequest = { readonly body: Record<string, unknown>; readonly filters: readonly string[] };

/** Every list of the contract. */
export const lists: readonly DescMethod[] = services
  .flatMap(({ methods }) => methods)
  .filter(({ name, methodKind }) => methodKind === "unary" && name.startsWith("List"));

/** Everything that a list can be asked: without a filter, by each filter, and by each two of them. */
export function requestsOf(method: DescMethod): ListRequest[] {
  const choices = method.input.fields.flatMap((field) => choicesOf(field));
  const required = choices.filter(
    ({ name }, at) => inPath(method, name) && choices.findIndex((one) => one.name === name) === at,
  );
  const others = choices.filter((one) => !required.includes(one));
  const pairs = others.flatMap((one, at) =>
    others.slice(at + 1).flatMap((other) => (other.name === one.name ? [] : [[one, other]])),
  );
  return [[], ...others.map((one) => [one]), ...pairs].map((chosen) => ({
    body: merged([...required, ...chosen]),
    filters: chosen.map(({ name }) => name),
  }));
}

// Events of an organization have no index together with these.
const besideOrganization = ["objectId", "actorId", "aboutUserId", "projectId", "onBehalfOfId"];

// What is asked about how users sign in has no index: too many users have the same answer.
const unserved = [
  "emailVerified",
  "phoneVerified",
  "hasFactor",
  "factor",
  "invitationPending",
  "lastSignInBefore",
  "passwordChangedBefore",
];

/** Whether a request has several filters, words or orders, or a filter that no index serves. */
export const intersects = ({ body, filters }: ListRequest): boolean =>
  filters.length > 1 ||
  filters.some((name) => unserved.includes(name.replace("filter.", ""))) ||
  filters.some((name) => besideOrganization.includes(name)) ||
  / /.test(String((body.filter as { search?: string } | undefined)?.search));

type Choice = { readonly name: string; readonly body: Record<string, unknown> };

/** Whether a field says which list it is: then a path has it. */
const inPath = (method: DescMethod, name: string): boolean =>
  String(describe(method).rest[0]?.pattern.value).includes(`{${method.input.field[name]?.name}}`);

/** Whether a list comes in pages. */
export const isPaged = ({ input }: DescMethod): boolean => "pageSize" in input.field;

const paging = ["pageSize", "pageToken"];

function choicesOf(field: DescField): Choice[] {
  const { localName: name } = field;
  if (paging.includes(name)) return [];
  // Its key means nothing without its value.
  if (field.message?.typeName === "postern.v1.MetadataFilter")
    return ["gold", "zzz"].map((value) => ({ name, body: { [name]: { key: "plan", value } } }));
  if (field.fieldKind === "message" && field.message.typeName !== "google.protobuf.Timestamp")
    return field.message.fields
      .flatMap(choicesOf)
      .map((one) => ({ name: `${name}.${one.name}`, body: { [name]: one.body } }));
  return valuesOf(field).map((value) => ({ name, body: { [name]: value } }));
}

function valuesOf(field: DescField): readonly unknown[] {
  if (field.fieldKind === "enum") return field.enum.values.filter(({ number }) => number > 0).map(({ name }) => name);
  if (field.fieldKind === "scalar" && field.scalar === ScalarType.BOOL) return [true];
  const values = texts[`${field.parent.name}.${field.localName}`] ?? texts[field.localName];
  if (!values) throw new Error(`no value is known for the filter ${field.parent.typeName}.${field.localName}`);
  return values;
}

// Values that rows have, many of them where there can be many, and values that none has: a filter that finds nothing must not take longer.
const texts: Readonly<Record<string, readonly unknown[]>> = {
  "ListMachineCredentialsRequest.userId": ["r1"],
  userId: ["u1"],
  appId: ["b1"],
  projectId: ["p1"],
  organizationId: [largest],
  projectGrantId: ["h1"],
  grantedOrganizationId: ["o77"],
  roleKey: ["role1", "zzz"],
  role: ["ORG_VIEWER", "ORG_OWNER"],
  loginName: ["user1"],
  loginNamePrefix: ["u"],
  name: ["Ada Byron1", "zzz"],
  namePrefix: ["a", "zzz"],
  email: ["user1@example.com"],
  emailPrefix: ["u"],
  phonePrefix: ["+4179"],
  phone: ["+41791000001"],
  key: ["role1"],
  keyPrefix: ["r"],
  search: ["a", "ada", "byron ada zzz", "ada user7"],
  objectId: ["u1", "zzz"],
  actorId: ["u1", "u2", "zzz"],
  aboutUserId: ["u1", "zzz"],
  onBehalfOfId: ["u1", "zzz"],
  types: [["user.unlocked"], ["user.reactivated"]],
  since: ["2001-01-01T00:00:00Z"],
  until: ["2101-01-01T00:00:00Z"],
  userIds: [["u1", "u2", "zzz"]],
  lastSignInBefore: ["2001-01-01T00:00:00Z", "2101-01-01T00:00:00Z"],
  passwordChangedBefore: ["2001-01-01T00:00:00Z", "2101-01-01T00:00:00Z"],
  expiresBefore: ["2001-01-01T00:00:00Z", "2101-01-01T00:00:00Z"],
};

function merged(choices: readonly Choice[]): Record<string, unknown> {
  const all: Record<string, unknown> = {};
  for (const { body } of choices)
    for (const [name, value] of Object.entries(body))
      all[name] = isMessage(value) ? { ...(all[name] as object), ...value } : value;
  return all;
}

const isMessage = (value: unknown): value is object => typeof value === "object" && !Array.isArray(value);
