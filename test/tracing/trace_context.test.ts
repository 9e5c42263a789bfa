import { expect, test } from "vitest";
import { samplingOf } from "../../src/tracing/sampling.ts";
import { parentIn } from "../../src/tracing/trace_context.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
const read = (traceparent: string, tracestate = "") => parentIn(new Headers({ traceparent, tracestate }));

test("reads whose span a call continues", () => {
  const parent = { traceId, spanId, sampled: true, state: "" };
  expect(read(`00-${traceId}-${spanId}-01`)).toEqual(parent);
  expect(read(`00-${traceId}-${spanId}-00`)).toEqual({ ...parent, sampled: false });
  expect(read(`00-${traceId}-${spanId}-02`)?.sampled).toBe(false);
  expect(read(`00-${traceId}-${spanId}-01`, "a=1,b=2")?.state).toBe("a=1,b=2");
  expect(read(`00-${traceId}-${spanId}-01`, "x".repeat(513))?.state).toBe("");
  // A later version may say more.
  expect(read(`cc-${traceId}-${spanId}-01-what-else`)).toEqual(parent);
});

test.each([
  "",
  "00",
  `00-${traceId}-${spanId}`,
  `00-${traceId}-${spanId}-01-more`,
  `ff-${traceId}-${spanId}-01`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${"0".repeat(32)}-${spanId}-01`,
  `00-${traceId}-${"0".repeat(16)}-01`,
  `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
])("%j names no span", (written) => {
  expect(read(written)).toBeUndefined();
});

test("the caller's word counts where it is asked for, else the share", () => {
  const parent = (sampled: boolean) => ({ traceId, spanId, sampled, state: "" });
  const decisions = (sampler: Parameters<typeof samplingOf>[0], ratio: number) => {
    const sampled = samplingOf(sampler, ratio);
    return [undefined, parent(true), parent(false)].map((one) => sampled(traceId, one));
  };
  expect(decisions("parentbased_always_on", 0)).toEqual([true, true, false]);
  expect(decisions("parentbased_always_off", 1)).toEqual([false, true, false]);
  expect(decisions("parentbased_traceidratio", 1)).toEqual([true, true, false]);
  expect(decisions("parentbased_traceidratio", 0)).toEqual([false, true, false]);
  expect(decisions("always_on", 0)).toEqual([true, true, true]);
  expect(decisions("always_off", 1)).toEqual([false, false, false]);
  expect(decisions("traceidratio", 0)).toEqual([false, false, false]);
});

test("a share keeps those traces whose last bytes are the highest", () => {
  const quarter = samplingOf("traceidratio", 0.25);
  const id = (end: string) => traceId.slice(0, -14) + end;
  expect(quarter(id("c0000000000000"), undefined)).toBe(true);
  expect(quarter(id("bfffffffff0000"), undefined)).toBe(false);
});
