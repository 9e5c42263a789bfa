import { create, type DescField, type DescMessage, getOption, hasOption, type Message } from "@bufbuild/protobuf";
import { isReflectMessage, type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { FieldRulesSchema, field as fieldRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { CreateOidcApplicationRequestSchema } from "../../gen/postern/v1/application_pb.ts";
import { SetBrandingRequestSchema } from "../../gen/postern/v1/organization_pb.ts";
import { SetLockoutPolicyRequestSchema, SetPasswordPolicyRequestSchema } from "../../gen/postern/v1/policy_pb.ts";
import { AddProjectRoleRequestSchema } from "../../gen/postern/v1/project_pb.ts";
import { CreateHumanUserRequestSchema } from "../../gen/postern/v1/user_pb.ts";
import { localized, refuse } from "../../src/errors.ts";
import { hasText } from "../../src/guards/rule_text.ts";
import { messageRules } from "../../src/guards/validate.ts";
import { errorText, type TextKey, type TextParams, text } from "../../src/messages/catalogue.ts";
import { methods } from "./methods.ts";

/** The fields of a message, and of all messages in it. */
function fieldsIn(type: DescMessage, seen = new Set<DescMessage>()): DescField[] {
  if (seen.has(type)) return [];
  seen.add(type);
  return type.fields.flatMap((field) => [field, ...(field.message ? fieldsIn(field.message, seen) : [])]);
}

type Rule = readonly [id: string, value: unknown];

/** The rules with the ids that protovalidate gives to them: bounds on both sides are one. */
function rulesIn(rules: ReflectMessage, kind: string): Rule[] {
  const set = rules.fields.filter((one) => rules.isSet(one));
  const single = set.filter(({ name }) => name !== "items" && name !== "gte" && name !== "lte");
  const bounds = ["gte", "lte"].filter((name) => set.some((one) => one.name === name));
  return [
    ...single.map((one): Rule => [`${kind}.${one.name}`, rules.get(one)]),
    ...(bounds.length > 0 ? [[`${kind}.${bounds.join("_")}`, undefined] as const] : []),
  ];
}

/** All rules that a field declares, those of its items too. */
function rulesOf(rules: ReflectMessage): Rule[] {
  return rules.fields.flatMap((one) => {
    const inner = rules.isSet(one) ? rules.get(one) : undefined;
    if (!isReflectMessage(inner)) return [];
    const items = inner.fields.find(({ name }) => name === "items");
    const within = items && inner.isSet(items) ? inner.get(items) : undefined;
    return [...rulesIn(inner, one.name), ...(isReflectMessage(within) ? rulesOf(within) : [])];
  });
}

test("each rule of the contract has a text", () => {
  const seen = new Set<DescMessage>();
  const fields = methods.flatMap(({ input }) => fieldsIn(input, seen)).filter((one) => hasOption(one, fieldRules));
  const rules = fields.flatMap((one) => rulesOf(reflect(FieldRulesSchema, getOption(one, fieldRules))));
  expect(new Set(rules.map(([id]) => id)).size).toBeGreaterThan(10);
  // Unknown values of an enum are found before, with the names of those that there are.
  expect(rules.filter(([id, value]) => id !== "enum.defined_only" && !hasText(id, value))).toEqual([]);
});

const long = "x".repeat(70_000);
const rows: readonly (readonly [
  type: DescMessage,
  message: Message,
  field: string,
  key: TextKey,
  params?: TextParams,
])[] = [
  [
    SetBrandingRequestSchema,
    create(SetBrandingRequestSchema, { logo: new TextEncoder().encode(long) }),
    "logo",
    "BYTES_MAX",
    { max: 65_536 },
  ],
  [
    SetPasswordPolicyRequestSchema,
    create(SetPasswordPolicyRequestSchema, { policy: { minimumLength: 0 } }),
    "policy.minimumLength",
    "NUMBER_BETWEEN",
    { min: 1, max: 200 },
  ],
  [
    SetLockoutPolicyRequestSchema,
    create(SetLockoutPolicyRequestSchema, { policy: { lockDuration: { seconds: 0n } } }),
    "policy.lockDuration",
    "NUMBER_MIN",
    { min: "1s" },
  ],
  [
    CreateOidcApplicationRequestSchema,
    create(CreateOidcApplicationRequestSchema, { projectId: "p", name: "n", redirectUris: [""] }),
    "redirectUris[0]",
    "FIELD_REQUIRED",
  ],
  [
    AddProjectRoleRequestSchema,
    create(AddProjectRoleRequestSchema, { projectId: "p", key: "two words" }),
    "key",
    "TEXT_NO_BLANKS",
  ],
  [
    CreateHumanUserRequestSchema,
    create(CreateHumanUserRequestSchema, {
      username: "a",
      givenName: "b",
      familyName: "c",
      email: "d@",
    }),
    "email",
    "TEXT_EMAIL",
  ],
];

for (const [type, message, field, key, params] of rows)
  test(`a wrong ${field} has the text ${key}, in German too`, () => {
    const error = localized(refuse.invalid(messageRules()(type)(message)), "de");
    const [bad] = error.findDetails(BadRequestSchema);
    const listed = bad?.fieldViolations.map((one) => [one.field, one.description, one.localizedMessage?.message]);
    expect(listed).toContainEqual([field, errorText(key, params), text(key, "de", params)]);
  });
