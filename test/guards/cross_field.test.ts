import { create, type Message } from "@bufbuild/protobuf";
import { createContextValues } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { EventService } from "../../gen/postern/v1/event_pb.ts";
import { CreateUsersRequestSchema, ListUsersRequestSchema, UserService } from "../../gen/postern/v1/user_pb.ts";
import { reasonOf } from "../../src/errors.ts";
import { crossFieldRules } from "../../src/guards/cross_field.ts";
import { messageRule } from "../../src/rules.ts";
import { userBatchRules } from "../../src/services/users/create_users.ts";

const call = {
  values: createContextValues(),
  signal: new AbortController().signal,
  requestHeader: new Headers(),
};

const smallPages = messageRule(ListUsersRequestSchema, ({ pageSize }) =>
  pageSize > 10 ? [{ field: "pageSize", text: "NUMBER_MAX", params: { max: 10 }, reason: "PAGE_LARGE" }] : [],
);
const noTokens = messageRule(ListUsersRequestSchema, ({ pageToken }) =>
  pageToken === ""
    ? []
    : [{ field: "pageToken", text: "FIELD_EMPTY", params: { other: "pageSize" }, reason: "TOKEN_GIVEN" }],
);

const guarded = (method = UserService.method.listUsers) => {
  const handled: Message[] = [];
  const check = crossFieldRules(method, [smallPages, noTokens]);
  const run = (request: Message) => {
    check(request, call);
    handled.push(request);
  };
  return { handled, run };
};

const refusalOf = (run: () => unknown) => {
  try {
    run();
  } catch (error) {
    return [reasonOf(error), error instanceof Error ? error.message : ""];
  }
  return undefined;
};

test("a declared rule refuses a request before its handler runs, naming every field that is wrong", () => {
  const { handled, run } = guarded();
  const wrong = create(ListUsersRequestSchema, { pageSize: 11, pageToken: "x" });
  const [reason, message] = refusalOf(() => run(wrong)) ?? [];
  expect(reason).toBe("VALIDATION_FAILED");
  expect(message).toMatch(/pageSize, pageToken/);
  expect(handled).toEqual([]);
});

test("a request that keeps its rules reaches the handler", () => {
  const { handled, run } = guarded();
  const right = create(ListUsersRequestSchema, { pageSize: 10 });
  run(right);
  expect(handled).toEqual([right]);
});

test("a rule binds requests of its own type only", () => {
  const { handled, run } = guarded(EventService.method.listEvents as never);
  run(create(ListUsersRequestSchema, { pageSize: 11 }));
  expect(handled).toHaveLength(1);
});

test("the phone numbers of a batch are parsed in pieces, and others have the event loop in between", async () => {
  const human = { givenName: "Ada", familyName: "Byron", email: "ada@example.com" };
  const items = Array.from({ length: 500 }, (_, n) => ({
    kind: { case: "human" as const, value: { ...human, username: `u${n}`, phone: `+4179${n}` } },
  }));
  const settings = {
    phoneDefaultRegion: undefined,
    phoneSendsPerUser: 1,
    phoneSendsPerNumber: 1,
    phoneSendWindowSeconds: 1,
  };
  const check = crossFieldRules(UserService.method.createUsers, userBatchRules(settings));
  let iterations = 0;
  const others = setInterval(() => (iterations += 1), 0);
  const request = create(CreateUsersRequestSchema, { items, allOrNothing: true });
  const refusal = await Promise.resolve(check(request, call)).catch((error: unknown) => error);
  clearInterval(others);
  expect(reasonOf(refusal)).toBe("PHONE_INVALID");
  expect(iterations).toBeGreaterThan(2);
});
