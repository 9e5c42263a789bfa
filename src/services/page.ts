import { refuse } from "../errors.ts";

type PageRequest = { readonly pageSize: number; readonly pageToken: string };

/** The part of a list that a request asks for. */
export type Page = {
  /** One more than is answered, to know whether there is more. */
  readonly limit: number;
  /** The keys of the last row of the page before; undefined for the first page. */
  readonly after: readonly string[] | undefined;
};

const usualSize = 100;

/** The page that a request asks for; `keys` is how many columns its order has. */
export function pageOf({ pageSize, pageToken }: PageRequest, keys: number): Page {
  return { limit: (pageSize || usualSize) + 1, after: pageToken ? keysOf(pageToken, keys) : undefined };
}

/** The rows that are answered, and the token for what follows them. */
export function cut<R>(rows: readonly R[], { limit }: Page, keysOfRow: (row: R) => readonly string[]) {
  const answered = rows.slice(0, limit - 1);
  const last = answered.at(-1);
  const nextPageToken = rows.length === limit && last ? tokenOf(keysOfRow(last)) : "";
  return { rows: answered, nextPageToken };
}

const tokenOf = (keys: readonly string[]) => Buffer.from(JSON.stringify(keys)).toString("base64url");

function keysOf(token: string, count: number): string[] {
  const keys = parsed(token);
  const ours = Array.isArray(keys) && keys.length === count && keys.every((key) => typeof key === "string");
  if (ours && !keys.some((key) => key.includes("\0"))) return keys;
  const violation = {
    field: "pageToken",
    description: "is not a page token of this list",
    reason: "PAGE_TOKEN_INVALID",
  };
  throw refuse.because("PAGE_TOKEN_INVALID", { violations: [violation] });
}

function parsed(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
}
