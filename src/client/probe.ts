import { get as plainGet } from "node:http";
import { get as secureGet } from "node:https";
import type { Connection } from "./connection.ts";

/** The response at a path; status 0 means that there was none. */
export type Probed = {
  readonly status: number;
  /** The beginning of the body, or why there was no response. */
  readonly text: string;
  /** The clock of the service. */
  readonly date: number | undefined;
  readonly tookMs: number;
};

const longestMs = 10_000;
const mostBytes = 4 * 2 ** 20;

/** Requests a path over HTTP/1.1. */
export function probe({ url, agent }: Connection, path: string): Promise<Probed> {
  const begun = performance.now();
  const get = url.startsWith("https:") ? secureGet : plainGet;
  const { promise, resolve } = Promise.withResolvers<Probed>();
  const request = get(`${url}${path}`, { agent, signal: AbortSignal.timeout(longestMs) }, (response) => {
    let text = "";
    const done = () => {
      const date = Date.parse(response.headers.date ?? "");
      const tookMs = Math.round(performance.now() - begun);
      resolve({ status: response.statusCode ?? 0, text, date: Number.isNaN(date) ? undefined : date, tookMs });
    };
    response.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
      if (text.length <= mostBytes) return;
      done();
      response.destroy();
    });
    response.on("end", done).on("error", done);
  });
  request.on("error", (error) => resolve({ status: 0, text: error.message, date: undefined, tookMs: 0 }));
  return promise;
}
