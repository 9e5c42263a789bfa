import { create } from "@bufbuild/protobuf";
import { createContextValues } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ListUsersRequestSchema, UserService } from "../../gen/postern/v1/user_pb.ts";
import { reasonOf, refuse } from "../../src/errors.ts";
import type { Next, UnaryRequest } from "../../src/guards/interceptor.ts";
import { largeCalls } from "../../src/guards/large_calls.ts";
import { type WorkedFor, workFor } from "../../src/security/current_share.ts";
import { takeHeavyTurn } from "../../src/security/pace.ts";
import { namedWork } from "../fixture/named_work.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
// The turns are those of the process: the last rest ends, so that no other test waits for it.
afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
});

const whom: WorkedFor = { shares: [["a", "caller"]], isShared: true };

/** Long pages of one organization, beside calls of others; each lasts until it is finished. */
function openLargeCalls(check: (name: string) => Promise<void> = async () => {}) {
  const work = namedWork();
  const nameOf = ({ header }: Pick<UnaryRequest, "header">) => header.get("name") ?? "";
  const next = ((request: UnaryRequest) => work.of(nameOf(request))()) as unknown as Next;
  const checked = ((request: UnaryRequest) => check(nameOf(request)).then(() => next(request))) as unknown as Next;
  const intercepted = largeCalls(() => checked)(next);
  const method = UserService.method.listUsers;
  const start = (name: string, signal = new AbortController().signal) => {
    const message = create(ListUsersRequestSchema, { pageSize: 500 });
    const header = new Headers({ name });
    const more = { url: "", requestMethod: "POST", contextValues: createContextValues() };
    return workFor(whom, () =>
      intercepted({ stream: false, service: UserService, method, message, header, signal, ...more }),
    );
  };
  const pass = async (ms: number) => {
    vi.advanceTimersByTime(ms);
    await work.settled();
  };
  return { ...work, start, pass };
}

test("a call that waited for more than a second is checked again before it begins", async () => {
  const ended = refuse.because("TOKEN_INVALID");
  const checked: string[] = [];
  const { begun, start, pass, finish } = openLargeCalls(async (name) => {
    checked.push(name);
    if (name === "third") throw ended;
  });
  const calls = ["first", "second", "third", "fourth"].map((name) => start(name));
  calls[2]?.catch(() => {});
  await pass(200);
  await finish("first");
  await pass(600);
  expect([begun, checked]).toEqual([["first", "second"], []]);
  await pass(200);
  await finish("second");
  await pass(600);
  await expect(calls[2]).rejects.toBe(ended);
  await pass(0);
  await finish("fourth");
  expect([begun, checked]).toEqual([
    ["first", "second", "fourth"],
    ["third", "fourth"],
  ]);
  expect(await Promise.all([calls[0], calls[1], calls[3]])).toEqual(["first", "second", "fourth"]);
});

test("a call waits for the turn of other heavy work of its organization", async () => {
  const { begun, start, pass, finish } = openLargeCalls();
  const turn = await workFor(whom, () => takeHeavyTurn());
  turn.begin();
  const call = start("call");
  await pass(100);
  turn[Symbol.dispose]();
  await pass(299);
  expect(begun).toEqual([]);
  await pass(1);
  await finish("call");
  expect(await call).toBe("call");
});

test("a call whose turn does not come within 30 seconds is told so, and no call after it waits for it", async () => {
  const { begun, start, pass, finish } = openLargeCalls();
  const gone = new AbortController();
  const [first, late, left] = [
    start("first"),
    start("late").catch(reasonOf),
    start("left", gone.signal).catch(reasonOf),
  ];
  await pass(29_999);
  gone.abort(refuse.because("TOKEN_INVALID"));
  expect(await left).toBe("TOKEN_INVALID");
  const next = start("next");
  await pass(1);
  expect(await late).toBe("OVERLOADED");
  await finish("first");
  await pass(3_000);
  await finish("next");
  expect([begun, await first, await next]).toEqual([["first", "next"], "first", "next"]);
});
