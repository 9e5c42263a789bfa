import { connectionTexts } from "../texts/connection.ts";
import type { Text } from "../texts/text.ts";
import { t } from "../texts/text.ts";

/** A field that the server found to be wrong, with its reason in the reader's language. */
export type Violation = { readonly field: string; readonly text: string };

type Detail = {
  readonly "@type": string;
  readonly reason?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly message?: string;
  readonly retryDelay?: string;
  readonly fieldViolations?: readonly {
    readonly field?: string;
    readonly description?: string;
    readonly localizedMessage?: { readonly message?: string };
  }[];
};

/** The server's answer to a call that it did not carry out, or the reason why there was none. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: readonly Violation[];
  /** The time at which another try makes sense, in milliseconds since 1970. */
  readonly retryAt: number | undefined;
  readonly requestId: string | undefined;

  constructor(status: number, given: { body?: unknown; requestId?: string | null; retryAfter?: string | null } = {}) {
    const { message, details } = readBody(given.body);
    const one = (type: string) => details.find((detail) => detail["@type"].endsWith(`google.rpc.${type}`));
    super(one("LocalizedMessage")?.message ?? message ?? t(textOf(status)));
    this.status = status;
    this.reason = one("ErrorInfo")?.reason ?? (status === 0 ? "NETWORK" : `HTTP_${status}`);
    this.metadata = one("ErrorInfo")?.metadata ?? {};
    this.violations = (one("BadRequest")?.fieldViolations ?? []).map((violation) => ({
      field: camel(violation.field ?? ""),
      text: violation.localizedMessage?.message ?? violation.description ?? "",
    }));
    const seconds = Number.parseFloat(one("RetryInfo")?.retryDelay ?? given.retryAfter ?? "");
    this.retryAt = Number.isFinite(seconds) ? Date.now() + seconds * 1000 : undefined;
    this.requestId = given.requestId ?? undefined;
  }
}

function readBody(body: unknown): { message?: string; details: readonly Detail[] } {
  const { message, details } = (body ?? {}) as { message?: string; details?: readonly Detail[] };
  return { ...(message ? { message } : {}), details: details ?? [] };
}

/** The text for a response without one: from a proxy, or from nobody. */
function textOf(status: number): Text {
  if (status === 0) return connectionTexts.lost;
  if (status === 429) return connectionTexts.tooMany;
  return status >= 502 && status <= 504 ? connectionTexts.unavailable : connectionTexts.failed;
}

/** The server names fields as the proto does; forms, as JSON does. */
const camel = (path: string): string => path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
