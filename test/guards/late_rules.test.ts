import { create, type DescMethod } from "@bufbuild/protobuf";
import { createContextValues } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { EventService } from "../../gen/postern/v1/event_pb.ts";
import { AddUserGrantRequestSchema, UserGrantService } from "../../gen/postern/v1/user_grant_pb.ts";
import type { Call } from "../../src/deps.ts";
import { maxViolations, refuse, type Violation } from "../../src/errors.ts";
import { lateViolations } from "../../src/guards/late_rules.ts";
import { lateRule } from "../../src/rules.ts";

const call = { values: createContextValues(), signal: new AbortController().signal, requestHeader: new Headers() };
const request = create(AddUserGrantRequestSchema, { projectId: "p", roleKeys: ["ghost"] });
const wrong = (field: string): Violation => ({ field, text: "VALUE_OBJECT", reason: "WRONG" });
const unavailable = new Error("the connection is lost");
const outages = {
  isUnavailable: (error: unknown) => error === unavailable,
  isStatementTimeout: () => false,
};

type Happens = { readonly allow?: () => Promise<void>; readonly find?: () => Promise<readonly Violation[]> };

/** Searches beside some violations; answers the fields found, and the steps that were taken. */
async function searched(found: readonly Violation[], { allow, find }: Happens = {}) {
  const steps: string[] = [];
  const rule = lateRule(AddUserGrantRequestSchema, ["roleKeys"], async (_request, _call: Call) => {
    steps.push("find");
    return find ? find() : [wrong("roleKeys[0]")];
  });
  const allowed = () => async () => {
    steps.push("allowed");
    await allow?.();
  };
  const late = lateViolations(UserGrantService.method.addUserGrant, { rules: [rule], allowed, outages });
  const violations = await late?.({ request, call }, found);
  return { fields: violations?.map(({ field }) => field), steps };
}

test("a caller with permission learns the violations that need the database", async () => {
  expect(await searched([wrong("userId")])).toEqual({ fields: ["roleKeys[0]"], steps: ["allowed", "find"] });
});

test("a caller without permission learns nothing, and nothing is searched", async () => {
  const allow = () => Promise.reject(refuse.because("PERMISSION_DENIED", { params: { permission: "x" } }));
  expect(await searched([wrong("userId")], { allow })).toEqual({ fields: [], steps: ["allowed"] });
});

test.each([
  ["a field that the rule weighs", "roleKeys"],
  ["a part of such a field", "roleKeys[0]"],
  ["a field that decides about permission", "projectId"],
])("%s that is wrong asks the database nothing", async (_what, field) => {
  expect(await searched([wrong("userId"), wrong(field)])).toEqual({ fields: [], steps: [] });
});

test("a refusal that is full asks the database nothing", async () => {
  const many = Array.from({ length: maxViolations }, () => wrong("userId"));
  expect(await searched(many)).toEqual({ fields: [], steps: [] });
});

test("a database that fails leaves the violations that were found without it", async () => {
  const find = () => Promise.reject(unavailable);
  expect(await searched([wrong("userId")], { find })).toEqual({ fields: [], steps: ["allowed", "find"] });
  const allow = () => Promise.reject(unavailable);
  expect(await searched([wrong("userId")], { allow })).toEqual({ fields: [], steps: ["allowed"] });
});

test("any other error is not hidden", async () => {
  const find = () => Promise.reject(new Error("a mistake of ours"));
  await expect(searched([wrong("userId")], { find })).rejects.toThrow("a mistake of ours");
});

test("an rpc without late rules has no search, and neither has a stream", () => {
  const rule = lateRule(EventService.method.watchEvents.input, [], async (_request, _call: Call) => []);
  const of = (method: DescMethod) => lateViolations(method, { rules: [rule], allowed: () => () => {}, outages });
  expect(of(UserGrantService.method.changeUserGrant)).toBeUndefined();
  expect(of(EventService.method.watchEvents)).toBeUndefined();
});
