import type { VirtualSeries } from "./promtool.ts";

/** The answer to a scrape of `/metrics`; undefined when there was none. */
export type Scrape = string | undefined;

// Prometheus waits no longer, unless it is told to.
const scrapeTimeoutMs = 10_000;

/** Scrapes a node as Prometheus does. */
export const scrape = (url: string): Promise<Scrape> =>
  fetch(`${url}/metrics`, { signal: AbortSignal.timeout(scrapeTimeoutMs) }).then(
    async (answer) => (answer.ok ? await answer.text() : undefined),
    () => undefined,
  );

const minutes = 20;
const added = 'job="postern",instance="one"';

/**
 * Series of scrapes a minute apart, which then go on for some minutes: what happened between the last two happens every minute, and
 * the state of the last one stays.
 */
export function virtualSeries(scrapes: readonly Scrape[]): VirtualSeries[] {
  const samples = scrapes.map((text) => (text === undefined ? undefined : samplesOf(text)));
  const names = new Set(samples.flatMap((one) => [...(one?.keys() ?? [])]));
  const up = { series: `up{${added}}`, values: samples.map((one) => (one ? 1 : 0)) };
  return [
    { series: up.series, values: [...up.values.slice(0, -1), `${up.values.at(-1)}x${minutes}`].join(" ") },
    ...[...names].map((name) => seriesOf(name, samples)),
  ];
}

type Sample = { readonly value: number; readonly isCounter: boolean };
type Samples = ReadonlyMap<string, Sample>;

/** The samples of an exposition by name and labels, to which those of Prometheus are added. */
function samplesOf(text: string): Samples {
  const types = new Map([...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = "", type = ""]) => [name, type]));
  const lines = [...text.matchAll(/^([a-z_\d]+)(?:\{(.*)\})? (\S+)$/gm)];
  return new Map(
    lines.map(([, name = "", labels = "", value]) => [
      `${name}{${[labels, added].filter(Boolean).join(",")}}`,
      { value: Number(value), isCounter: types.get(name) !== "gauge" },
    ]),
  );
}

function seriesOf(name: string, samples: readonly (Samples | undefined)[]): VirtualSeries {
  const values = samples.map((one) => one?.get(name));
  const [before, last] = [values.at(-2), values.at(-1)];
  const first = values.slice(0, -1).map((one, nth) => one?.value ?? (values[nth - 1] ? "stale" : "_"));
  return { series: name, values: [...first, goingOn(last, before)].join(" ") };
}

function goingOn(last: Sample | undefined, before: Sample | undefined): string {
  if (!last) return before ? `stale _x${minutes}` : `_x${minutes}`;
  if (!last.isCounter) return `${last.value}x${minutes}`;
  const since = last.value - (before?.value ?? 0);
  // A counter that fell began anew.
  return `${last.value}+${since < 0 ? last.value : since}x${minutes}`;
}
