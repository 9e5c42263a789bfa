import type { DescService } from "@bufbuild/protobuf";
import { pathOf } from "../../rpc/rpc_method.ts";
import { histogram, record, type Series, seriesIn } from "./series.ts";
import type { Family } from "./text.ts";

/** Called when a call begins; returns a function to call when it ends. */
export type Observe = (
  operation: string,
  headers: Pick<Headers, "get">,
) => (code: string, milliseconds: number) => void;

/** Counts calls and measures their duration. */
export type CallMetrics = { readonly observe: Observe; readonly families: () => Family[] };

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
        record(seriesOf(doorOf(headers), name), code, milliseconds / 1000);
      };
    },
    families: () => familiesOf(doors, running, prefix),
  };

  function seriesOf(door: Door, operation: string): Series {
    const inDoor = doors.get(door) ?? new Map<string, Series>();
    doors.set(door, inDoor);
    return seriesIn(inDoor, operation);
  }
}

/** The paths of all rpcs; any other name is chosen by a client, and must not become a label. */
export function operationsOf(served: readonly DescService[]): ReadonlySet<string> {
  return new Set(served.flatMap(({ methods }) => methods.map(pathOf)));
}

type Door = "grpc" | "grpc_web" | "connect" | "json";

/** The protocol of a call by its headers: the value of the label `door`. */
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
    [...series.outcomes].map(([code, value]) => ({ labels: { ...labels, code }, value })),
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
