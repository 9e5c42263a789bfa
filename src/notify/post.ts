import { NotTaken } from "./not_taken.ts";
import { retryAfterSeconds } from "./retry_after.ts";

export type Post = { readonly headers: Readonly<Record<string, string>>; readonly body: string };

const longestExcerpt = 16_384;
const longestRetrySeconds = 300;

/** Posts to an HTTP service; any status but 2xx throws NotTaken, which is permanent if the request is at fault. */
export async function post(url: string, { headers, body }: Post, signal: AbortSignal): Promise<void> {
  const response = await fetch(url, { method: "POST", headers, body, signal, redirect: "manual" }).catch(unreached);
  const text = await excerpt(response);
  if (response.ok) return;
  const permanent = response.status < 500 && response.status !== 408 && response.status !== 429;
  throw new NotTaken(`it answered ${response.status}${errorCode(text)}`, { permanent, ...retryAfter(response) });
}

function unreached(error: Error): never {
  if (error.name === "TimeoutError") throw new NotTaken("it did not answer in time");
  const { code } = (error.cause ?? {}) as { code?: unknown };
  throw new NotTaken(`it cannot be reached${typeof code === "string" ? ` (${code})` : ""}`);
}

/** Reads the beginning of the response. The status has already decided, so a body that breaks off does not matter. */
async function excerpt({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body ?? []) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= longestExcerpt) break;
    }
  } catch {}
  return Buffer.concat(chunks).toString("utf8");
}

// Twilio identifies errors by number: https://www.twilio.com/docs/api/errors
function errorCode(text: string): string {
  const [, code] = /"(?:error_)?code"\s*:\s*(\d{1,6})\b/.exec(text) ?? [];
  return code ? ` with error ${code}` : "";
}

function retryAfter({ headers }: Response): { retrySeconds: number } {
  const asked = retryAfterSeconds({ retryAfter: headers.get("retry-after"), date: headers.get("date") });
  return { retrySeconds: Math.min(asked, longestRetrySeconds) };
}
