import { expect, test } from "vitest";
import { counter, gauge, together } from "../../packages/gateway/src/services/metrics/text.ts";
import { lasting, merge } from "../../src/metrics/merge.ts";

const calls = (samples: Record<string, number>) => ({
  ...{ name: "calls", help: "Calls.", type: "histogram" as const },
  samples: Object.entries(samples).map(([le, value]) => ({ suffix: "_bucket", labels: { le }, value })),
});

test("counters, histograms and gauges of several processes are added up, label by label", () => {
  const merged = merge([
    [counter("ended", "Ended.", 2), calls({ "1": 3, "+Inf": 4 })],
    [counter("ended", "Ended.", 5), calls({ "1": 1, "+Inf": 1, "5": 9 }), gauge("open", "Open.", 7)],
  ]);
  expect(merged).toEqual(
    [counter("ended", "Ended.", 7), calls({ "1": 4, "5": 9, "+Inf": 5 }), gauge("open", "Open.", 7)].map((family) => ({
      ...family,
      samples: expect.arrayContaining([...family.samples]),
    })),
  );
  expect(merged[1]?.samples).toHaveLength(3);
});

test("what all read from one database, or what is as bad as the worst, is not added up", () => {
  const most = (value: number) => together("most", gauge("behind", "Behind.", value));
  const least = (value: number) => together("least", gauge("began", "Began.", value));
  const merged = merge([
    [most(3), least(3)],
    [most(5), least(5)],
    [most(4), least(4)],
  ]);
  expect(merged).toEqual([most(5), least(3)]);
});

test("a process that has ended leaves its counters, and no gauge", () => {
  expect(lasting([counter("ended", "Ended.", 2), gauge("open", "Open.", 7), calls({ "1": 1 })])).toEqual([
    counter("ended", "Ended.", 2),
    calls({ "1": 1 }),
  ]);
});
