import { type Calls, needs } from "../gen/contract.ts";
import { renew, token } from "../sign_in/sign_in.ts";
import { language } from "../texts/text.ts";
import { connection } from "./connection.ts";
import { record } from "./made_calls.ts";
import { Refusal } from "./refusal.ts";

export type Method = keyof Calls;
/** The request of a call. If it can name the expected version, it must, unless nothing is changed. */
export type Request<M extends Method> = "expectedSequence" extends keyof Calls[M][0]
  ? Calls[M][0] & ({ readonly expectedSequence: string } | OnlyValidates<M>)
  : Calls[M][0];
type OnlyValidates<M extends Method> = "validateOnly" extends keyof Calls[M][0]
  ? { readonly validateOnly: true }
  : never;
export type Answer<M extends Method> = Calls[M][1];

export type CallOptions = {
  /** The organization to work in; by default, the caller's own. */
  readonly organizationId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The key of a write: repeating it with the same key changes nothing more. */
  readonly key?: string | undefined;
};

export const newKey = (): string => crypto.randomUUID();

/** The pauses before each repetition, in milliseconds. */
export const pauses = [250, 500, 1000, 2000, 4000];

/** Makes a call. While no node responds, it is repeated for some seconds; a write has a key, so that it happens once. */
export async function call<M extends Method>(
  method: M,
  request: Request<M>,
  options: CallOptions = {},
): Promise<Answer<M>> {
  const key = needs[method].writes ? (options.key ?? newKey()) : undefined;
  let sent = token.value;
  for (let repeats = 0, renewal: "none" | "due" | "done" = "none"; ; ) {
    try {
      if (renewal === "due") {
        await renew(sent);
        renewal = "done";
      }
      sent = token.value;
      const response = await send({ method, request }, { ...options, key });
      connection.value = "up";
      return (await response.json()) as Answer<M>;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.status === 401 && renewal === "none") {
        renewal = "due";
        continue;
      }
      const pause = isAway(error) ? pauses[repeats++] : undefined;
      if (pause === undefined) throw error;
      connection.value = "lost";
      await after(pause, options.signal);
    }
  }
}

/** Whether no server responded that could serve the call. */
export const isAway = ({ status }: Pick<Refusal, "status">): boolean =>
  status === 0 || (status >= 502 && status <= 504);

/** Sends a request, and returns the response of a call that succeeded. */
export async function send(
  { method, request }: { readonly method: Method; readonly request: unknown },
  { organizationId, signal, key }: CallOptions,
): Promise<Response> {
  const begun = performance.now();
  const response = await fetch(`/postern.v1.${method}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token.value}`,
      "content-type": "application/json",
      "accept-language": language.value,
      ...(organizationId ? { "x-service-orgid": organizationId } : {}),
      ...(key ? { "idempotency-key": key } : {}),
    },
    body: JSON.stringify(request),
    credentials: "omit",
    cache: "no-store",
    signal: signal ?? null,
  }).catch((error: unknown) => {
    throw signal?.aborted ? error : new Refusal(0);
  });
  record({ method, request, organizationId, status: response.status, took: performance.now() - begun });
  if (response.ok) return response;
  const said = { requestId: response.headers.get("x-request-id"), retryAfter: response.headers.get("retry-after") };
  throw new Refusal(response.status, { ...said, body: await response.json().catch(() => undefined) });
}

/** Waits, unless the caller leaves the page. */
export function after(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
