import { histogram, record, type Series, seriesIn } from "./series.ts";
import type { Family } from "./text.ts";

/** The result of a request to a route: the status of its response, and the reason for an error. */
export type RequestOutcome = { readonly status: number; readonly reason?: string | undefined };

/** Called when a request arrives; returns a function to call when it ends. */
export type ObserveRequest = (endpoint: string) => (outcome: RequestOutcome, milliseconds: number) => void;

/** Counts requests to routes and measures their duration. */
export type RequestMetrics = { readonly observe: ObserveRequest; readonly families: () => Family[] };

/** Counts requests by endpoint and outcome. These become labels, so clients must not be able to choose any of them. */
export function requestMetrics(prefix: string): RequestMetrics {
  const endpoints = new Map<string, Series>();
  let running = 0;

  return {
    observe(endpoint) {
      running += 1;
      return ({ status, reason = "" }, milliseconds) => {
        running -= 1;
        record(seriesIn(endpoints, endpoint), `${status} ${reason}`, milliseconds / 1000);
      };
    },
    families: () => familiesOf([...endpoints], running, prefix),
  };
}

function familiesOf(endpoints: readonly (readonly [string, Series])[], running: number, prefix: string): Family[] {
  const ended = endpoints.flatMap(([endpoint, { outcomes }]) =>
    [...outcomes].map(([outcome, value]) => {
      const [status = "", reason = ""] = outcome.split(" ");
      return { labels: { endpoint, status, reason }, value };
    }),
  );
  return [
    {
      name: `${prefix}_requests_total`,
      help: "Requests that ended, by status and reason.",
      type: "counter",
      samples: ended,
    },
    { name: `${prefix}_requests_in_flight`, help: "Requests that run.", type: "gauge", samples: [{ value: running }] },
    {
      name: `${prefix}_request_duration_seconds`,
      help: "Time from a read request to its response.",
      type: "histogram",
      samples: endpoints.flatMap(([endpoint, series]) => histogram({ endpoint }, series)),
    },
  ];
}
