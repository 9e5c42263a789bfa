import type { DescService } from "@bufbuild/protobuf";
import { pathOf } from "../../rpc/rpc_method.ts";
import type { Family, Sample } from "./text.ts";

/** Called when a call begins; the returned function is called when it ends. */
export type Observe = (
  operation: string,
  headers: Pick<Headers, "get">,
) => (code: string, milliseconds: number) => void;

/** Counts calls and measures their time. */
export type CallMetrics = { readonly observe: Observe; readonly families: () => Family[] };

const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

type Series = { readonly codes: Map<string, number>; readonly buckets: number[]; sum: number; count: number };

/** Counts the calls of these services; calls of other names are counted as `unknown`. */
export function callMetrics(served: readonly DescService[], prefix: string): CallMetrics {
  const known = operationsOf(served);
  const doors = new Map<Door, Map<string, Series>>();
  let running = 0;

  return {
    observe(operation, headers) {
      running += 1;
      return (code, milliseconds) => {
        running -= 1;
        const name = known.has(operation) ? operation : "unknown";
        count(seriesOf(doorOf(headers), name), code, milliseconds / 1000);
      };
    },
    families: () => familiesOf(doors, running, prefix),
  };

  function seriesOf(door: Door, operation: string): Series {
    const inDoor = doors.get(door) ?? new Map<string, Series>();
    doors.set(door, inDoor);
    const existing = inDoor.get(operation);
    if (existing) return existing;
    const created = { codes: new Map<string, number>(), buckets: bounds.map(() => 0), sum: 0, count: 0 };
    inDoor.set(operation, created);
    return created;
  }
}

/** The paths of all rpcs; every other name is chosen by a client, and must not become a label. */
export function operationsOf(served: readonly DescService[]): ReadonlySet<string> {
  return new Set(served.flatMap(({ methods }) => methods.map(pathOf)));
}

function count(series: Series, code: string, seconds: number): void {
  series.codes.set(code, (series.codes.get(code) ?? 0) + 1);
  series.count += 1;
  series.sum += seconds;
  const at = bounds.findIndex((bound) => seconds <= bound);
  if (at >= 0) series.buckets[at] = (series.buckets[at] ?? 0) + 1;
}

type Door = "grpc" | "grpc_web" | "connect" | "json";

/** The protocol of a call by its headers, the value of the label `door`. */
export function doorOf(headers: Pick<Headers, "get">): Door {
  const type = headers.get("content-type") ?? "";
  if (type.startsWith("application/grpc")) return type.startsWith("application/grpc-web") ? "grpc_web" : "grpc";
  const connect = type.startsWith("application/connect+") || type.startsWith("application/proto");
  return connect || headers.get("connect-protocol-version") !== null ? "connect" : "json";
}

type Doors = ReadonlyMap<Door, ReadonlyMap<string, Series>>;

function familiesOf(doors: Doors, running: number, prefix: string): Family[] {
  const all = [...doors].flatMap(([door, byOperation]) =>
    [...byOperation].map(([operation, series]) => ({ labels: { operation, door }, series })),
  );
  const ended = all.flatMap(({ labels, series }) =>
    [...series.codes].map(([code, value]) => ({ labels: { ...labels, code }, value })),
  );
  return [
    { name: `${prefix}_calls_total`, help: "Calls that ended, by code of gRPC.", type: "counter", samples: ended },
    { name: `${prefix}_calls_in_flight`, help: "Calls that run.", type: "gauge", samples: [{ value: running }] },
    {
      name: `${prefix}_call_duration_seconds`,
      help: "Time from a read request to its answer; of a stream, to its end.",
      type: "histogram",
      samples: all.flatMap(({ labels, series }) => histogram(labels, series)),
    },
  ];
}

function histogram(labels: Readonly<Record<string, string>>, { buckets, sum, count }: Series): Sample[] {
  let below = 0;
  const cumulated = bounds.map((bound, index) => {
    below += buckets[index] ?? 0;
    return { suffix: "_bucket", labels: { ...labels, le: String(bound) }, value: below };
  });
  return [
    ...cumulated,
    { suffix: "_bucket", labels: { ...labels, le: "+Inf" }, value: count },
    { suffix: "_sum", labels, value: sum },
    { suffix: "_count", labels, value: count },
  ];
}
