import {
  create,
  type DescField,
  type DescMessage,
  type Message,
  ScalarType,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { durationFromMs, FieldMaskSchema, OptionSchema, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { largestMessage } from "../../packages/gateway/src/codec/largest_message.ts";
import { gateway } from "../../packages/gateway/src/gateway.ts";
import { sampleRoutes } from "../../packages/gateway/test/sample_gateway.ts";
import { sampleMessage, sampleService } from "../../packages/gateway/test/sample_service.ts";
import { describeAll } from "../../src/contract/describe.ts";
import { contractBounds } from "../../src/contract/field_bounds.ts";
import { contractBytes } from "../../src/contract/message_limit.ts";
import { services } from "../../src/runtime/modules.ts";
import { rpcOf } from "./sample.ts";

const operations = describeAll(services);
const { items: mostItems, texts: longestTexts } = contractBounds;

// A review should see it when an rpc takes more or less than before. All others take 16 KiB, the least.
const larger = {
  "AccountService/ChangePassword": 24_576,
  "ApplicationService/AddApplicationKey": 39_936,
  "ApplicationService/CreateApiApplication": 262_144,
  "ApplicationService/CreateOidcApplication": 262_144,
  "ApplicationService/ListApplications": 34_816,
  "AuthorizationService/Evaluate": 65_536,
  "AuthorizationService/EvaluateMany": 1_048_576,
  "ConsentService/ListConnectedApplications": 26_624,
  "DeliveryService/ListDeliveries": 24_576,
  "DomainService/ListDomains": 24_576,
  "EventService/ListEvents": 157_696,
  "EventService/WatchEvents": 169_984,
  "ExplanationService/ExplainSignIn": 58_368,
  "InvitationService/CreateInvitations": 262_144,
  "InvitationService/ListInvitations": 24_576,
  "InvitationService/ListReceivedInvitations": 26_624,
  "JobService/ListJobs": 24_576,
  "MachineCredentialService/AddMachineKey": 25_600,
  "MachineCredentialService/SetMachineDelegation": 32_768,
  "MemberService/ListMembers": 34_816,
  "NameService/GetNames": 262_144,
  "ApplicationService/UpdateApiApplication": 262_144,
  "ApplicationService/UpdateOidcApplication": 262_144,
  "OrganizationService/ListOrganizations": 38_912,
  "OrganizationService/SetBranding": 131_072,
  "OrganizationService/SetOrganizationMetadata": 65_536,
  "ProjectService/ChangeProjectGrant": 262_144,
  "ProjectService/GrantProject": 262_144,
  "ProjectService/ListProjectGrants": 31_744,
  "ProjectService/ListProjectRoles": 34_816,
  "ProjectService/ListProjects": 31_744,
  "SessionService/ListSessions": 26_624,
  "SubscriptionService/CreateSubscription": 182_272,
  "SubscriptionService/ListSubscriptions": 24_576,
  "SubscriptionService/ReplaySubscription": 38_912,
  "SubscriptionService/UpdateSubscription": 152_576,
  "UserExportService/ExportUser": 26_624,
  "UserGrantService/AddUserGrant": 262_144,
  "UserGrantService/AddUserGrantRoles": 262_144,
  "UserGrantService/AddUserGrants": 1_048_576,
  "UserGrantService/ChangeUserGrant": 262_144,
  "UserGrantService/ListUserGrants": 31_744,
  "UserGrantService/RemoveUserGrantRoles": 262_144,
  "UserRoleService/ListEndedUserRoles": 26_624,
  "UserRoleService/ListUserRoles": 26_624,
  "UserService/CreateHumanUser": 47_104,
  "UserService/CreateUsers": 1_048_576,
  "UserService/ListAccessTokens": 26_624,
  "UserService/ListUsers": 65_536,
  "UserService/SetUserMetadata": 65_536,
  "UserService/UpdateHumanUser": 26_624,
};

test("each rpc takes messages of so many bytes", () => {
  const sizes = operations.map((one) => [one.path.replace("/postern.v1.", ""), one.limits.messageMaxBytes] as const);
  expect(Object.fromEntries(sizes.filter(([, bytes]) => bytes !== 16_384))).toEqual(larger);
});

/** Rpcs whose requests hold bytes, or JSON objects of any keys, by the first one: only the stated limit bounds their bytes. */
const open: Readonly<Record<string, string>> = {
  "AuthorizationService/Evaluate": "subject.properties",
  "AuthorizationService/EvaluateMany": "subject.properties",
  "FactorService/ConfirmPasskey": "credential",
  "OrganizationService/SetBranding": "logo",
  "SessionService/CompleteSession": "passkey",
  "SessionService/CreatePasskeySession": "credential",
};
const openOf = (path: string) => open[path.replace("/postern.v1.", "")];

const stated = [
  "ProjectService/ChangeProjectGrant",
  "ApplicationService/CreateApiApplication",
  "ApplicationService/CreateOidcApplication",
  "ApplicationService/UpdateApiApplication",
  "ApplicationService/UpdateOidcApplication",
  ...Object.keys(open),
  "InvitationService/CreateInvitations",
  "MachineCredentialService/SetMachineDelegation",
  "NameService/GetNames",
  "OrganizationService/SetOrganizationMetadata",
  "ProjectService/GrantProject",
  "RegistrationService/CompleteRegistration",
  "SessionService/CreateMailSession",
  "SessionService/CreateSession",
  "UserGrantService/AddUserGrant",
  "UserGrantService/AddUserGrantRoles",
  "UserGrantService/AddUserGrants",
  "UserGrantService/ChangeUserGrant",
  "UserGrantService/RemoveUserGrantRoles",
  "UserService/CreateUsers",
  "UserService/SetUserMetadata",
  "UserService/ListUsers",
];

for (const { path, method, limits } of operations) {
  test(`${path}: the largest message that the rules allow fits, or the contract states less`, () => {
    const { binary, json, values, unbounded } = largestMessage(method.input, contractBounds);
    expect(unbounded).toBe(openOf(path));
    expect(values).toBeLessThan(20_000);
    const fits = Math.max(binary, json) <= limits.messageMaxBytes;
    expect(fits).toBe(!stated.some((name) => path.endsWith(name)));
  });
}

/** JSON as the most wasteful writer sends it: indented, with every character outside of ASCII escaped. */
const escaped = (text: string) =>
  text.replace(/[^\x20-\x7e\n]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

const closed = operations.filter(
  ({ path }) =>
    !/AddUserGrants|ApiApplication|CreateInvitations|CreateUsers|Set\w+Metadata/.test(path) &&
    openOf(path) === undefined,
);
for (const { path, method } of closed) {
  test(`${path}: the largest message is as large as it was computed`, () => {
    const largest = largestMessage(method.input, contractBounds);
    const message = filled(method.input);
    const json = escaped(JSON.stringify(toJson(method.input, message), undefined, 4));
    expect(json.length).toBeLessThanOrEqual(largest.json);
    // A writer may escape the characters of a closed set of texts as well, which nobody does.
    expect(json.length).toBeGreaterThan(0.9 * largest.json - 200 - 5 * closedCharacters(method.input));
    const binary = toBinary(method.input, message).length;
    expect(binary).toBeLessThanOrEqual(largest.binary);
    expect(binary).toBeGreaterThan(0.9 * largest.binary - 200);
  });
}

/** The number of characters in texts of which the rules list every one. */
function closedCharacters({ fields }: DescMessage): number {
  const lists = fields.filter((field) => field.fieldKind === "list" && field.scalar === ScalarType.STRING);
  const lengths = lists.map((field) => {
    const texts = longestTexts(field);
    return typeof texts === "number" ? 0 : mostItems(field) * Math.max(...texts.map(({ length }) => length));
  });
  return lengths.reduce((sum, length) => sum + length, 0);
}

/** A message whose every field is as large as its rules allow. */
function filled(type: DescMessage): Message {
  const message = create(type);
  const into = reflect(type, message);
  for (const field of type.fields) {
    if (field.fieldKind === "list") {
      const list = into.get(field);
      const { message: item } = field;
      const valueAt = (index: number) => (item ? reflect(item, filled(item)) : largestValue(field, index));
      for (let index = 0; index < mostItems(field); index += 1) list.add(valueAt(index));
    } else if (field.fieldKind === "scalar" || field.fieldKind === "enum") into.set(field, largestValue(field, 0));
    else if (field.fieldKind === "message") into.set(field, reflect(field.message ?? type, inside(field)));
    else throw new Error(`${field} is a map`);
  }
  return message;
}

function inside({ message }: DescField): Message {
  if (message?.typeName === "google.protobuf.Duration") return durationFromMs(-315_576_000_000_001);
  if (message?.typeName === "google.protobuf.Timestamp") return timestampFromMs(253_402_300_799_999);
  if (message?.typeName === "google.protobuf.FieldMask")
    return create(FieldMaskSchema, { paths: Array(64).fill("x".repeat(62)) });
  if (!message) throw new Error("there is nothing inside");
  return filled(message);
}

function largestValue(field: DescField, index: number) {
  if (field.enum) return field.enum.values.at(-1)?.number ?? 0;
  if (field.scalar === ScalarType.BOOL) return true;
  if (field.scalar !== ScalarType.STRING) return field.scalar === ScalarType.INT32 ? -(2 ** 31) : 2 ** 32 - 1;
  const texts = longestTexts(field);
  if (typeof texts !== "number") return texts.toSorted((a, b) => b.length - a.length)[0];
  return "\u{1d4b3}".repeat(texts - 1) + String.fromCodePoint(0x1d400 + index);
}

test("an rpc whose rules leave its message unbounded stops the start, and the field is named", () => {
  const sentence = "sample.Samples.Do has no largest message: bound its field tags, or state message_bytes";
  expect(() => contractBytes(rpcOf({ isSized: false }))).toThrow(sentence);
});

test("an rpc that anyone may call and that takes more than 16 KiB stops the start", () => {
  expect(() => contractBytes(rpcOf({ who: "anyone" }))).toThrow(
    "sample.Samples.Do may be called by anyone: its messages may have 16384 bytes, and its contract allows 4194304",
  );
});

test("a message without a bound is not computed to be a number", () => {
  const { binary, json, values, unbounded } = largestMessage(sampleMessage(), contractBounds);
  expect([binary, json, values, unbounded]).toEqual([...Array(3).fill(Number.POSITIVE_INFINITY), "tags"]);
});

test("an Any has no largest value", () => {
  const { values, unbounded } = largestMessage(OptionSchema, contractBounds);
  expect([values, unbounded]).toEqual([Number.POSITIVE_INFINITY, "name"]);
});

test("the setting bounds every rpc", () => {
  const routes = sampleRoutes(sampleService([{ name: "Do" }]));
  const mostBytes = (messageMaxBytes: number) =>
    gateway({ routes, limitsOf: () => ({ messageMaxBytes: 16_384 }), limits: { messageMaxBytes } }).methods.map(
      ({ limits }) => limits.messageMaxBytes,
    );
  expect(mostBytes(2000)).toEqual([2000]);
  expect(mostBytes(4_194_304)).toEqual([16_384]);
});
