import type { Door } from "./door.ts";
import type { Answer } from "./request.ts";

/** What a browser is told about an answer that a page of this origin asked for. */
export type Cors = (origin: string | null | undefined) => Readonly<Record<string, string>>;

const exposed = [
  "grpc-status, grpc-message, grpc-status-details-bin, grpc-encoding, content-encoding, connect-content-encoding",
  "x-request-id, retry-after, allow, www-authenticate",
].join(", ");

/** Lets pages of these origins read our answers; `*` is every origin, and none switches it off. */
export function corsFor(origins: readonly string[]): Cors {
  const [everyone, known] = [origins.includes("*"), new Set(origins)];
  const varies = { vary: "origin" };
  return (origin) => {
    if (origins.length === 0) return {};
    // No cookies are involved: whoever calls brings a token of its own.
    if (everyone) return { "access-control-allow-origin": "*", "access-control-expose-headers": exposed };
    if (!origin || !known.has(origin)) return varies;
    return { ...varies, "access-control-allow-origin": origin, "access-control-expose-headers": exposed };
  };
}

/** Answers what browsers ask before they let a page call, and marks every answer of a door. */
export function withCors(door: Door, cors: Cors): Door {
  return async (asked) => {
    const headers = cors(asked.headers.get("origin"));
    const wants = asked.headers.get("access-control-request-method");
    if (asked.method === "OPTIONS" && wants !== null && !asked.flaw && Object.keys(headers).length > 0)
      return preflight(headers, asked.headers.get("access-control-request-headers"));
    const answer = await door(asked);
    const vary = [answer.headers.vary, headers.vary].filter(Boolean).join(", ");
    return { ...answer, headers: { ...answer.headers, ...headers, ...(vary && { vary }) } };
  };
}

function preflight(
  { "access-control-expose-headers": _, ...headers }: Answer["headers"],
  wanted: string | null,
): Answer {
  if (!headers["access-control-allow-origin"]) return { status: 204, headers, body: "" };
  const allowed = {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    ...(wanted && /^[\w, -]*$/.test(wanted) && { "access-control-allow-headers": wanted }),
    "access-control-max-age": "7200",
  };
  return { status: 204, headers: { ...headers, ...allowed }, body: "" };
}
