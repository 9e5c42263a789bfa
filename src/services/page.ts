import type { Message } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import { messageRule, refuse, type Violation } from "../errors.ts";

type PageRequest = { readonly pageSize: number; readonly pageToken: string };
type PageRequestType = GenMessage<Message & PageRequest>;

/** The page that a request asks for. */
export type Page = {
  /** One row more than the page has, to know whether there is more. */
  readonly limit: number;
  /** The keys of the last row of the page before; undefined for the first page. */
  readonly after: readonly string[] | undefined;
};

const usualSize = 100;

/** Reads the page out of a request; `keys` is the number of columns in the order of the list. */
export function pageOf({ pageSize, pageToken }: PageRequest, keys: number): Page {
  const after = pageToken ? keysIn(pageToken, keys) : undefined;
  if (pageToken && !after) throw refuse.invalid([notAToken]);
  return { limit: (pageSize || usualSize) + 1, after };
}

/** Cross-field rules of a request for a page. */
export const pageRule = (type: PageRequestType, keys: number) =>
  messageRule(type, ({ pageToken }) => (pageToken && !keysIn(pageToken, keys) ? [notAToken] : []));

/** The violation of a token that the list did not issue. */
export const notAToken: Violation = {
  field: "pageToken",
  description: "is not a page token of this list",
  reason: "PAGE_TOKEN_INVALID",
};

/** Returns the rows of the page, and the token of the next one. */
export function cut<R>(rows: readonly R[], { limit }: Page, keysOfRow: (row: R) => readonly string[]) {
  const answered = rows.slice(0, limit - 1);
  const last = answered.at(-1);
  const nextPageToken = rows.length === limit && last ? tokenOf(keysOfRow(last)) : "";
  return { rows: answered, nextPageToken };
}

const tokenOf = (keys: readonly string[]) => Buffer.from(JSON.stringify(keys)).toString("base64url");

/** Decodes the keys in a token; undefined if this list did not issue it. */
export function keysIn(token: string, count: number): string[] | undefined {
  const keys = parsed(token);
  const ours = Array.isArray(keys) && keys.length === count && keys.every((key) => typeof key === "string");
  return ours && !keys.some((key) => key.includes("\0")) ? keys : undefined;
}

function parsed(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
}
