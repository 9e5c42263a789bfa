import { createHash } from "node:crypto";
import { type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import { AgeOrder } from "../../../gen/postern/v1/list_order_pb.ts";
import { refuse, type Violation } from "../../errors.ts";
import { type MessageRule, messageRule } from "../../rules.ts";

export type PageRequest = Message & { readonly pageSize: number; readonly pageToken: string };

export type Page = {
  /** One more than the page size, to know whether there is a next page. */
  readonly limit: number;
  /** The keys of the previous page's last row; undefined for the first page. */
  readonly after: readonly string[] | undefined;
  /** Computes the digest of the request that its page tokens carry. */
  readonly query: () => string;
};

/** The number of rows to read, and the keys that they follow. */
export type PagePart = Pick<Page, "after" | "limit">;

/** The most rows that one page reads, however many of them it skips; more than the largest page size. */
export const mostRead = 2000;

/** The direction of a list by age, in SQL; ids sort by time. */
export const ageDirection = (order: AgeOrder) =>
  order === AgeOrder.OLDEST
    ? ({ backwards: "asc", beyond: ">" } as const)
    : ({ backwards: "desc", beyond: "<" } as const);

const usualSize = 100;

/** Converts the page of a request; `keys` is the number of columns that order the list, `most` the size of its largest page. */
export function pageOf<R extends PageRequest>(type: GenMessage<R>, request: R, keys: number, most = mostRead): Page {
  const { pageSize, pageToken } = request;
  const [fault] = tokenFaults(type, request, keys);
  if (fault) throw refuse.invalid([fault]);
  const after = pageToken ? tokenIn(pageToken, keys)?.keys : undefined;
  return { limit: Math.min(pageSize || usualSize, most) + 1, after, query: () => queryOf(type, request) };
}

export const pageRule = <R extends PageRequest>(type: GenMessage<R>, keys: number): MessageRule =>
  messageRule(type, (request) => tokenFaults(type, request as R, keys), ["pageToken"]);

/** Refuses a token that the list did not issue, or issued for another query. */
export function tokenFaults(type: DescMessage, request: PageRequest, keys: number): readonly Violation[] {
  if (!request.pageToken) return [];
  const token = tokenIn(request.pageToken, keys);
  if (!token) return [notAToken];
  return token.query === queryOf(type, request) ? [] : [tokenOfAnotherQuery];
}

export const notAToken: Violation = {
  field: "pageToken",
  text: "PAGE_TOKEN_FOREIGN",
  reason: "PAGE_TOKEN_INVALID",
};

const tokenOfAnotherQuery: Violation = {
  field: "pageToken",
  text: "PAGE_OF_OTHER_QUERY",
  reason: "PAGE_TOKEN_INVALID",
};

/** A row that a list read. If no single index covers all filters, some rows do not match. */
type Candidate = { readonly isMatch?: boolean; readonly isLast?: boolean };

/** Returns the rows of the page and the next page's token. A row with `isLast` ends the page even if it is not full. */
export function cut<R extends object>(
  rows: readonly R[],
  { limit, query }: Page,
  keysOfRow: (row: R) => readonly string[],
) {
  const end = rows.findIndex((row) => (row as Candidate).isLast);
  const isStopped = end >= 0 && end < limit - 1;
  const taken = rows.slice(0, isStopped ? end + 1 : limit - 1);
  const last = taken.at(-1);
  const nextPageToken = last && (isStopped || rows.length === limit) ? tokenOf(query(), keysOfRow(last)) : "";
  return { rows: taken.filter((row) => (row as Candidate).isMatch ?? true), nextPageToken };
}

/** Computes the digest of everything in a request except the page. */
export function queryOf(type: DescMessage, request: PageRequest): string {
  const asked = { ...request, pageSize: 0, pageToken: "" };
  const bytes = toBinary(type, asked, { writeUnknownFields: false });
  return createHash("sha256").update(bytes).digest("base64url").slice(0, 12);
}

/** Makes the token of the page after these keys. */
export const tokenOf = (query: string, keys: readonly string[]) =>
  Buffer.from(JSON.stringify([query, ...keys])).toString("base64url");

/** Decodes a token; undefined if no list with this number of keys issued it. */
export function tokenIn(token: string, count: number): { query: string; keys: string[] } | undefined {
  const parts = parsed(token);
  const isOurs = Array.isArray(parts) && parts.length === count + 1 && parts.every(isText);
  if (!isOurs) return undefined;
  const [query, ...keys] = parts;
  return { query, keys };
}

// PostgreSQL accepts neither U+0000 nor lone surrogates.
const isText = (key: unknown) => typeof key === "string" && !key.includes("\0") && key.isWellFormed();

function parsed(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
}
