import { create, type Message } from "@bufbuild/protobuf";
import { createContextValues } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { EventService } from "../../gen/postern/v1/event_pb.ts";
import { ListUsersRequestSchema, UserService } from "../../gen/postern/v1/user_pb.ts";
import { messageRule, reasonOf } from "../../src/errors.ts";
import { crossFieldRules } from "../../src/guards/cross_field.ts";

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
