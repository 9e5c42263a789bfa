import { create, type DescMessage, fromBinary, fromJson, type Message, toBinary } from "@bufbuild/protobuf";
import { ConnectError, createContextValues } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { ChangePasswordRequestSchema } from "../../gen/postern/v1/account_pb.ts";
import {
  ApplicationService,
  CreateApiApplicationRequestSchema,
  CreateOidcApplicationRequestSchema,
  RotateClientSecretRequestSchema,
} from "../../gen/postern/v1/application_pb.ts";
import { ListEventsRequestSchema } from "../../gen/postern/v1/event_pb.ts";
import { RenameFactorRequestSchema } from "../../gen/postern/v1/factor_pb.ts";
import { AddMemberRequestSchema } from "../../gen/postern/v1/member_pb.ts";
import { CreateOrganizationRequestSchema } from "../../gen/postern/v1/organization_pb.ts";
import { SetLockoutPolicyRequestSchema, SetPasswordPolicyRequestSchema } from "../../gen/postern/v1/policy_pb.ts";
import { AddProjectRoleRequestSchema, CreateProjectRequestSchema } from "../../gen/postern/v1/project_pb.ts";
import { CompleteSessionRequestSchema, CreatePasskeySessionRequestSchema } from "../../gen/postern/v1/session_pb.ts";
import { AddUserGrantsRequestSchema } from "../../gen/postern/v1/user_grant_pb.ts";
import {
  CreateAccessTokenRequestSchema,
  CreateHumanUserRequestSchema,
  CreateMachineUserRequestSchema,
  CreateUsersRequestSchema,
  ListUsersRequestSchema,
} from "../../gen/postern/v1/user_pb.ts";
import { anyTypes, decodeJson } from "../../packages/gateway/src/codec/json.ts";
import { messageRules, validate } from "../../src/guards/validate.ts";

const call = { values: createContextValues(), signal: new AbortController().signal, requestHeader: new Headers() };
const rules = messageRules();
const broken = (type: DescMessage, message: Message) =>
  rules(type)(message).map(({ field, reason }) => `${field} ${reason}`);

const human = { username: "ada", givenName: "Ada", familyName: "Lovelace", email: "ada@example.com" };
const app = { projectId: "p", name: "a" };
const many = (count: number) => Array.from({ length: count }, (_, index) => `r${index}`);

type Row = readonly [what: string, type: DescMessage, message: Message, wrong: readonly string[]];

const rows: readonly Row[] = [
  ["what is right", CreateHumanUserRequestSchema, create(CreateHumanUserRequestSchema, human), []],
  [
    "everything that is missing",
    CreateHumanUserRequestSchema,
    create(CreateHumanUserRequestSchema),
    ["username REQUIRED", "givenName REQUIRED", "familyName REQUIRED", "email REQUIRED"],
  ],
  [
    "a name of blanks",
    CreateHumanUserRequestSchema,
    create(CreateHumanUserRequestSchema, { ...human, givenName: " \t\u00a0 " }),
    ["givenName REQUIRED"],
  ],
  [
    "an address without a domain",
    CreateHumanUserRequestSchema,
    create(CreateHumanUserRequestSchema, { ...human, email: "ada" }),
    ["email STRING_EMAIL"],
  ],
  [
    "a username with a blank inside",
    CreateHumanUserRequestSchema,
    create(CreateHumanUserRequestSchema, { ...human, username: "a da" }),
    ["username STRING_PATTERN"],
  ],
  [
    "a username with an invisible character inside",
    CreateHumanUserRequestSchema,
    create(CreateHumanUserRequestSchema, { ...human, username: "a\u202eda" }),
    ["username STRING_PATTERN"],
  ],
  [
    "a username with a blank of another script inside",
    CreateHumanUserRequestSchema,
    create(CreateHumanUserRequestSchema, { ...human, username: "a\u3000da" }),
    ["username STRING_PATTERN"],
  ],
  [
    "a username outside the basic plane",
    CreateHumanUserRequestSchema,
    create(CreateHumanUserRequestSchema, { ...human, username: "zoë😀名前" }),
    [],
  ],
  [
    "a password that is there and empty",
    CreateHumanUserRequestSchema,
    create(CreateHumanUserRequestSchema, { ...human, password: "" }),
    ["password REQUIRED"],
  ],
  [
    "an empty password",
    ChangePasswordRequestSchema,
    create(ChangePasswordRequestSchema, { newPassword: " " }),
    ["oldPassword REQUIRED"],
  ],
  [
    "200 characters outside the basic plane",
    CreateOidcApplicationRequestSchema,
    create(CreateOidcApplicationRequestSchema, { ...app, name: "😀".repeat(200) }),
    [],
  ],
  [
    "201 characters outside the basic plane",
    CreateOidcApplicationRequestSchema,
    create(CreateOidcApplicationRequestSchema, { ...app, name: "😀".repeat(201) }),
    ["name STRING_MAX_LEN"],
  ],
  [
    "200 characters with blanks around them",
    CreateOidcApplicationRequestSchema,
    create(CreateOidcApplicationRequestSchema, { ...app, name: ` ${"😀".repeat(200)} ` }),
    ["name STRING_MAX_LEN"],
  ],
  [
    "201 characters with blanks around them",
    CreateOidcApplicationRequestSchema,
    create(CreateOidcApplicationRequestSchema, { ...app, name: ` ${"😀".repeat(201)} ` }),
    ["name STRING_MAX_LEN"],
  ],
  [
    "198 characters with blanks around them",
    CreateOidcApplicationRequestSchema,
    create(CreateOidcApplicationRequestSchema, { ...app, name: ` ${"😀".repeat(198)} ` }),
    [],
  ],
  [
    "blanks alone, more than there may be characters",
    CreateHumanUserRequestSchema,
    create(CreateHumanUserRequestSchema, { ...human, givenName: " ".repeat(201), phone: "\n".repeat(201) }),
    ["givenName STRING_MAX_LEN", "phone STRING_MAX_LEN", "givenName REQUIRED"],
  ],
  ...["\u200b", "\u200b \u200d", "\u3164", "\u2800", "\ufe0f", "\u00ad\u2060", "\u{e0041}"].map(
    (name): Row => [
      `a name without a visible character: ${JSON.stringify(name)}`,
      CreateOidcApplicationRequestSchema,
      create(CreateOidcApplicationRequestSchema, { ...app, name }),
      ["name STRING_INVISIBLE"],
    ],
  ),
  ...["\u200ba", "👩‍🚀", "名", ".", "\u0301", "\ue000"].map(
    (name): Row => [
      `a name with a visible character: ${JSON.stringify(name)}`,
      CreateOidcApplicationRequestSchema,
      create(CreateOidcApplicationRequestSchema, { ...app, name }),
      [],
    ],
  ),
  ...["a b", "a\u00a0b", "a\tb", "a\u200bb"].map(
    (key): Row => [
      `a role key with a blank: ${JSON.stringify(key)}`,
      AddProjectRoleRequestSchema,
      create(AddProjectRoleRequestSchema, { projectId: "p", key, displayName: "a b" }),
      ["key STRING_PATTERN"],
    ],
  ),
  [
    "a display name that nobody sees, of a role whose key is trimmed",
    AddProjectRoleRequestSchema,
    create(AddProjectRoleRequestSchema, { projectId: "p", key: " a ", displayName: "\u200b" }),
    ["displayName STRING_INVISIBLE"],
  ],
  [
    "wrong and repeated items of a list",
    CreateOidcApplicationRequestSchema,
    fromJson(CreateOidcApplicationRequestSchema, {
      ...app,
      redirectUris: ["a", ""],
      responseTypes: [9, 0, 0],
      appType: 77,
    }),
    [
      ...["responseTypes[0] ENUM_DEFINED_ONLY", "appType ENUM_DEFINED_ONLY"],
      ...["redirectUris[1] REQUIRED", "responseTypes REPEATED_UNIQUE"],
    ],
  ],
  [
    "a negative duration",
    CreateOidcApplicationRequestSchema,
    create(CreateOidcApplicationRequestSchema, { ...app, clockSkew: { seconds: -1n } }),
    ["clockSkew DURATION_GTE_LTE"],
  ],
  [
    "a duration that is too long",
    RotateClientSecretRequestSchema,
    create(RotateClientSecretRequestSchema, { projectId: "p", appId: "a", overlap: { seconds: 2_592_001n } }),
    ["overlap DURATION_GTE_LTE"],
  ],
  [
    "a page that is too large",
    ListUsersRequestSchema,
    create(ListUsersRequestSchema, { pageSize: 1001 }),
    ["pageSize INT32_GTE_LTE"],
  ],
  [
    "a page that is negative",
    ListUsersRequestSchema,
    create(ListUsersRequestSchema, { pageSize: -1 }),
    ["pageSize INT32_GTE_LTE"],
  ],
  [
    "a policy that is missing",
    SetLockoutPolicyRequestSchema,
    create(SetLockoutPolicyRequestSchema),
    ["policy REQUIRED"],
  ],
  [
    "numbers inside a message",
    SetPasswordPolicyRequestSchema,
    create(SetPasswordPolicyRequestSchema, { policy: { minimumLength: 201, historyDepth: 25 } }),
    ["policy.minimumLength UINT32_GTE_LTE", "policy.historyDepth UINT32_LTE"],
  ],
  [
    "a role that nobody can hold",
    AddMemberRequestSchema,
    create(AddMemberRequestSchema, { userId: "u", roles: ["ORG_OWNER", "KING"] }),
    ["roles[1] STRING_IN"],
  ],
  [
    "items inside items",
    AddUserGrantsRequestSchema,
    create(AddUserGrantsRequestSchema, {
      items: [
        { userId: "u", projectId: "p" },
        { userId: "u", roleKeys: ["a", ""] },
      ],
    }),
    ["items[1].projectId REQUIRED", "items[1].roleKeys[1] REQUIRED"],
  ],
  ["a list without items", AddUserGrantsRequestSchema, create(AddUserGrantsRequestSchema), ["items REQUIRED"]],
  [
    "a list that is too long",
    AddUserGrantsRequestSchema,
    create(AddUserGrantsRequestSchema, { items: [{ userId: "u", projectId: "p", roleKeys: many(200_000) }] }),
    ["items REPEATED_MAX_INNER_ITEMS", "items[0].roleKeys REPEATED_MAX_ITEMS"],
  ],
  [
    "lists that are too long together",
    AddUserGrantsRequestSchema,
    create(AddUserGrantsRequestSchema, {
      items: Array.from({ length: 11 }, () => ({ userId: "u", projectId: "p", roleKeys: many(910) })),
    }),
    ["items REPEATED_MAX_INNER_ITEMS"],
  ],
  ...["\u3164", "\uffa0", "\u115f", "\u2800", "\ufe0f", "\u034f", "\u180b", "\u{e0100}", "\u17b4"].map(
    (invisible): Row => [
      `a username and a key with U+${invisible.codePointAt(0)?.toString(16)}`,
      CreateHumanUserRequestSchema,
      create(CreateHumanUserRequestSchema, { ...human, username: `admin${invisible}` }),
      ["username STRING_INVISIBLE"],
    ],
  ),
  [
    "a role key with an invisible character",
    AddProjectRoleRequestSchema,
    create(AddProjectRoleRequestSchema, { projectId: "p", key: "read\u3164er" }),
    ["key STRING_INVISIBLE"],
  ],
  ...["\u0007", "\u001b", "\n", "\u0085", "\u2028", "\u202e", "\u2066", "\u200f"].map(
    (control): Row => [
      `names with U+${control.codePointAt(0)?.toString(16)}`,
      CreateHumanUserRequestSchema,
      create(CreateHumanUserRequestSchema, { ...human, givenName: `A${control}da`, familyName: `Love${control}lace` }),
      ["givenName STRING_NOT_ONE_LINE", "familyName STRING_NOT_ONE_LINE"],
    ],
  ),
  [
    "names that join characters",
    CreateHumanUserRequestSchema,
    create(CreateHumanUserRequestSchema, { ...human, givenName: "می\u200cخواهم", familyName: "👩\u200d🚀 ❤️" }),
    [],
  ],
  ...(
    [
      [CreateOrganizationRequestSchema, "name", {}],
      [CreateProjectRequestSchema, "name", {}],
      [CreateOidcApplicationRequestSchema, "name", { projectId: "p" }],
      [CreateApiApplicationRequestSchema, "name", { projectId: "p" }],
      [CreateMachineUserRequestSchema, "name", { username: "m" }],
      [CreateAccessTokenRequestSchema, "name", { userId: "u" }],
      [AddProjectRoleRequestSchema, "displayName", { projectId: "p", key: "k" }],
      [RenameFactorRequestSchema, "name", { userId: "u", factorId: "f" }],
    ] as const
  ).map(
    ([type, field, rest]): Row => [
      `a name of ${type.typeName} that turns its direction`,
      type,
      create(type as DescMessage, { ...rest, [field]: "Acme\u202e Inc" }),
      [`${field} STRING_NOT_ONE_LINE`],
    ],
  ),
  [
    "times of the years 0 and 10000",
    ListEventsRequestSchema,
    create(ListEventsRequestSchema, {
      since: { seconds: -62_135_596_801n, nanos: 0 },
      until: { seconds: 253_402_300_800n, nanos: 0 },
    }),
    ["since TIME_YEARS", "until TIME_YEARS"],
  ],
  [
    "a time with too many nanoseconds",
    CreateAccessTokenRequestSchema,
    create(CreateAccessTokenRequestSchema, { userId: "u", expirationDate: { seconds: 1n, nanos: 1_000_000_000 } }),
    ["expirationDate TIME_YEARS"],
  ],
  [
    "U+0000 and half a surrogate pair, anywhere",
    AddUserGrantsRequestSchema,
    create(AddUserGrantsRequestSchema, { items: [{ userId: "u\0", projectId: "\ud83d", roleKeys: ["a", "\0b"] }] }),
    [
      "items[0].userId STRING_NULL_CHARACTER",
      "items[0].projectId STRING_UNICODE",
      "items[0].roleKeys[1] STRING_NULL_CHARACTER",
    ],
  ],
  [
    "U+0000 and half a surrogate pair in an open object, by the keys that lead there",
    CreatePasskeySessionRequestSchema,
    create(CreatePasskeySessionRequestSchema, {
      challengeToken: "t",
      credential: { response: { list: ["a", "b\0"], "\ud83d": {} } },
    }),
    ['credential["response"]["list"][1] STRING_NULL_CHARACTER', 'credential["response"]["\\ud83d"] STRING_UNICODE'],
  ],
  [
    "an open object in a oneof",
    CompleteSessionRequestSchema,
    create(CompleteSessionRequestSchema, { pendingToken: "t", answer: { case: "passkey", value: { id: "\0" } } }),
    ['passkey["id"] STRING_NULL_CHARACTER'],
  ],
];

for (const [what, type, message, wrong] of rows) {
  test(`${what}: ${wrong.length === 0 ? "nothing is wrong" : "is named"}`, () => {
    expect(broken(type, message)).toEqual(wrong);
  });
}

test("only fields that say so are trimmed", () => {
  const name = create(CreateOidcApplicationRequestSchema, { ...app, name: " a b\n" });
  const password = create(ChangePasswordRequestSchema, { oldPassword: " a ", newPassword: " b " });
  expect([broken(CreateOidcApplicationRequestSchema, name), name.name]).toEqual([[], "a b"]);
  expect([broken(ChangePasswordRequestSchema, password), password.newPassword]).toEqual([[], " b "]);
});

test("a long batch is searched item by item, with the same findings as at once", async () => {
  const items = Array.from({ length: 200 }, (_, n) => ({
    kind: {
      case: "human" as const,
      value: { ...human, username: n % 20 === 0 ? " " : `u${n}`, email: n % 50 === 0 ? "ada" : "ada@example.com" },
    },
  }));
  const make = () => create(CreateUsersRequestSchema, { items: [{ kind: { case: undefined } }, ...items] });
  const own = rules(CreateUsersRequestSchema);
  const [whole, pieces] = [make(), make()];
  const found = await own.inPieces?.(pieces);
  expect(found).toEqual(own(whole));
  expect(found).toHaveLength(14);
  expect(pieces).toEqual(whole);
  const grants = { userId: "u", projectId: "p", roleKeys: many(60) };
  const tooMany = create(AddUserGrantsRequestSchema, { items: Array.from({ length: 200 }, () => grants) });
  expect(rules(AddUserGrantsRequestSchema).inPieces?.(tooMany)).toBeUndefined();
  expect(rules(ListUsersRequestSchema).inPieces).toBeUndefined();
});

test("descriptions say what is asked for", () => {
  const message = fromJson(CreateOidcApplicationRequestSchema, { name: "a", responseTypes: [0, 0], appType: 7 });
  const described = rules(CreateOidcApplicationRequestSchema)(message).map(({ text, params }) => [text, params]);
  expect(described).toEqual([
    ["VALUE_ENUM", { names: "OIDC_APP_TYPE_WEB, OIDC_APP_TYPE_USER_AGENT, OIDC_APP_TYPE_NATIVE" }],
    ["FIELD_REQUIRED", undefined],
    ["LIST_UNIQUE", {}],
  ]);
});

test("JSON and binary requests are refused alike", () => {
  const type = CreateOidcApplicationRequestSchema;
  const check = validate(ApplicationService.method.createOidcApplication, rules);
  const json = { projectId: "p", name: " ", redirectUris: ["", "a\u0000"], responseTypes: [9], clockSkew: "-5s" };
  const decoded = decodeJson(type, { value: json, violations: [] }, { rules: rules(type), registry: anyTypes });
  const refusals = [decoded, fromBinary(type, toBinary(type, create(type, withoutJson(json))))].map((message) =>
    refusalOf(() => void check(message, call)),
  );
  expect(refusals[0]?.rawMessage).toBe(refusals[1]?.rawMessage);
  expect(refusals[0]?.findDetails(BadRequestSchema)).toEqual(refusals[1]?.findDetails(BadRequestSchema));
  expect(refusals[0]?.findDetails(BadRequestSchema)[0]?.fieldViolations).toHaveLength(5);
});

const withoutJson = ({ clockSkew: _, ...json }: Record<string, unknown> & { clockSkew: string }) => ({
  ...json,
  clockSkew: { seconds: -5n },
});

function refusalOf(work: () => void): ConnectError | undefined {
  try {
    work();
  } catch (error) {
    if (error instanceof ConnectError) return error;
  }
  return undefined;
}

test("a time is rounded down to microseconds", () => {
  const expirationDate = { seconds: 253_402_300_799n, nanos: 999_999_999 };
  const message = create(CreateAccessTokenRequestSchema, { userId: "u", expirationDate });
  expect(broken(CreateAccessTokenRequestSchema, message)).toEqual([]);
  expect(message.expirationDate).toMatchObject({ seconds: 253_402_300_799n, nanos: 999_999_000 });
});
