import type { Deps } from "../../deps.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { sameBytes } from "../../security/compare.ts";
import type { Keyring } from "../../security/seal.ts";
import { hashToken } from "../../security/token.ts";
import { type Parameters, parametersIn } from "../http/parameters.ts";
import { PageError } from "../pages/page_error.ts";
import type { Client } from "./client.ts";
import { isDocumentId } from "./document_id.ts";
import { formSeconds } from "./sealed_request.ts";

/** The prefix of our `request_uri` values (RFC 9126, 2.2). */
export const pushedPrefix = "urn:ietf:params:oauth:request_uri:";

// The pages of a pushed request lead back to it, for another language or to start over. Only the browser that opened it may do so.
const markParameter = "urn:postern:pushed";
const purpose = "pushed request";

/** An authorization request as a browser opens it, and whether its application pushed it. */
export type OpenedRequest = {
  readonly query: string;
  readonly parameters: Parameters;
  readonly isPushed: boolean;
};

/**
 * Makes the function that opens an authorization request. Of a pushed request, only the client id and the request_uri count; it can be
 * opened once, and after that only by the pages that it led to, in the same browser.
 */
export function pushedRequests({ sql, clock, secrets }: Pick<Deps, "sql" | "clock" | "secrets">) {
  const { keyring } = secrets;
  return async (query: string, browser: string): Promise<OpenedRequest> => {
    const parameters = parametersIn(query);
    if (isMarked(parameters)) return reopened(keyring, query, { browser, now: clock() });
    const name = tokenIn(parameters.get("request_uri"));
    if (name === undefined) return { query, parameters, isPushed: false };
    const kept = await taken(sql, { hash: hashToken(name), clientId: parameters.get("client_id") ?? "", now: clock() });
    if (kept === undefined) throw new PageError("expired");
    const marked = withMark(keyring, kept, { browser, time: String(clock().getTime()) });
    return { query: marked, parameters: parametersIn(marked), isPushed: true };
  };
}

const longestUri = 200;

function tokenIn(uri: string | undefined): string | undefined {
  return uri?.startsWith(pushedPrefix) && uri.length <= longestUri ? uri.slice(pushedPrefix.length) : undefined;
}

type Taking = { readonly hash: Buffer; readonly clientId: string; readonly now: Date };

/** The owner of a pushed request: the application, or the URL of a client's document, which may be no application yet. */
export const pusherOf = ({ bringsDocument, clientId, appId }: Client): string => (bringsDocument ? clientId : appId);

/** The query of a pushed request, which can be read only once. */
async function taken(sql: Sql, { hash, clientId, now }: Taking): Promise<string | undefined> {
  const document = isDocumentId(clientId) ? clientId : null;
  const [row] = await sql<{ query: string }[]>`
    delete from pushed_requests r
    where r.hash = ${hash} and r.expiration_date > ${now}
      and (r.app_id = ${document}::text or exists (
        select from client_ids c where c.client_id = ${clientId} and c.app_id = r.app_id offset 0))
    returning r.query`;
  return row?.query;
}

type Opening = { readonly browser: string; readonly now: Date };

/** Whether a request says that it was pushed, which only its mark proves. */
export const isMarked = (parameters: Parameters): boolean => parameters.get(markParameter) !== undefined;

/** The longest mark, with its name. */
export const longestMark = 100;

/** The browser that opened a request, and when. */
type Opened = { readonly browser: string; readonly time: string };

function withMark(keyring: Keyring, query: string, of: Opened): string {
  const mac = keyring.mac(purpose, contentOf(query, of)).toString("base64url");
  return `${query}&${new URLSearchParams({ [markParameter]: `${of.time}.${mac}` })}`;
}

/** Changes the query of a request that was opened; if it was pushed, the mark is for the new query, and expires no later. */
export function changed(keyring: Keyring, { query, browser }: Changing, change: (query: string) => string): string {
  const [, kept, time] = isMarked(parametersIn(query)) ? (marking.exec(query) ?? []) : [];
  return kept === undefined || time === undefined ? change(query) : withMark(keyring, change(kept), { browser, time });
}

type Changing = { readonly query: string; readonly browser: string };

// Nothing may follow the mark, because it would be a parameter that the application has not pushed.
const marking = new RegExp(`^(.*)&${encodeURIComponent(markParameter)}=(\\d+)\\.([\\w-]+)$`, "s");

function reopened(keyring: Keyring, marked: string, { browser, now }: Opening): OpenedRequest {
  const [, query = "", time = "", mac = ""] = marking.exec(marked) ?? [];
  const given = Buffer.from(mac, "base64url");
  const isOurs = keyring.macs(purpose, contentOf(query, { browser, time })).some((one) => sameBytes(one, given));
  if (!isOurs || now.getTime() - Number(time) > formSeconds * 1000) throw new PageError("expired");
  return { query: marked, parameters: parametersIn(marked), isPushed: true };
}

const contentOf = (query: string, of: Opened): string => JSON.stringify([of.browser, of.time, query]);
