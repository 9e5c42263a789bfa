import { getOption } from "@bufbuild/protobuf";
import { field as fieldRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { expect, test } from "vitest";
import { AddMemberRequestSchema, ChangeMemberRequestSchema } from "../../gen/postern/v1/member_pb.ts";
import { roles } from "../../src/guards/permissions.ts";

test("the contract takes every role that gives permissions, and no other", () => {
  for (const type of [AddMemberRequestSchema, ChangeMemberRequestSchema]) {
    const { type: rules } = getOption(type.field.roles, fieldRules);
    const item = rules.case === "repeated" ? rules.value.items?.type : undefined;
    expect(item?.case === "string" ? item.value.in.toSorted() : []).toEqual(Object.keys(roles).sort());
  }
});
