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
const rows: readonly (readonly [type: DescMessage, message: Message, english: string, german: string])[] = [
  [
    SetBrandingRequestSchema,
    create(SetBrandingRequestSchema, { logo: new TextEncoder().encode(long) }),
    "logo: must be at most 65536 bytes",
    "Höchstens 65536 Bytes sind erlaubt.",
  ],
  [
    SetPasswordPolicyRequestSchema,
    create(SetPasswordPolicyRequestSchema, { policy: { minimumLength: 0 } }),
    "policy.minimumLength: must be greater than or equal to 1 and less than or equal to 200",
    "Der Wert muss zwischen 1 und 200 liegen.",
  ],
  [
    SetLockoutPolicyRequestSchema,
    create(SetLockoutPolicyRequestSchema, { policy: { lockDuration: { seconds: 0n } } }),
    "policy.lockDuration: must be greater than or equal to 1s",
    "Der Wert muss mindestens 1s sein.",
  ],
  [
    CreateOidcApplicationRequestSchema,
    create(CreateOidcApplicationRequestSchema, { projectId: "p", name: "n", redirectUris: [""] }),
    "redirectUris[0]: is required",
    "Diese Angabe fehlt.",
  ],
  [
    AddProjectRoleRequestSchema,
    create(AddProjectRoleRequestSchema, { projectId: "p", key: "two words" }),
    "key: must not contain spaces or control characters",
    "Leerzeichen und Steuerzeichen sind hier nicht erlaubt.",
  ],
  [
    CreateHumanUserRequestSchema,
    create(CreateHumanUserRequestSchema, {
      username: "a",
      givenName: "b",
      familyName: "c",
      email: "d@",
    }),
    "email: must be a valid email address",
    "Das ist keine gültige E-Mail-Adresse.",
  ],
];

for (const [type, message, english, german] of rows)
  test(`${english}, in German too`, () => {
    const error = localized(refuse.invalid(messageRules()(type)(message)), "de");
    const [bad] = error.findDetails(BadRequestSchema);
    const listed = bad?.fieldViolations.map((one) => [
      `${one.field}: ${one.description}`,
      one.localizedMessage?.message,
    ]);
    expect(listed).toContainEqual([english, german]);
  });
