import type { JsonObject } from "@bufbuild/protobuf";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { hashToken } from "../../security/token.ts";
import { type Client, type ClientRow, clientColumn, clientOf, clientTables } from "../request/client.ts";
import { isDocumentId } from "../request/document_id.ts";
import { type Resource, resourceOf } from "../request/resource.ts";
import { familyOf } from "./refresh_token.ts";
import { plannedSignOnTables, type SignOn, signOnTables, signOnValue } from "./subject.ts";

type Lookup = { readonly client_id: string; readonly now: string; readonly hash: string };

/** A code with its sign-in, which is null if it is no longer in force. */
export type FoundCode = {
  readonly redirectUri: string;
  readonly challenge: string | null;
  /** The key that its request named. */
  readonly jkt: string | null;
  readonly isUsed: boolean;
  readonly isExpired: boolean;
  readonly end: End;
  readonly signOn: SignOn | null;
};

/** A device code. Once the user has approved, it has a sign-in, which is null if it is no longer in force. */
export type FoundDevice = {
  readonly appId: string;
  readonly isUsed: boolean;
  readonly isDenied: boolean;
  readonly isExpired: boolean;
  readonly end: End | null;
  readonly signOn: SignOn | null;
};

/** A refresh token with its sign-in. */
export type FoundRefresh = {
  /** Whether it was replaced so long ago that its row has been deleted. */
  readonly isSwept: boolean;
  readonly isExpired: boolean;
  /** The number of milliseconds since it was replaced; null for the current one. */
  readonly replacedMs: number | null;
  /** In hexadecimal. */
  readonly successor: string | null;
  /** The key that it is bound to, if its client is public. */
  readonly jkt: string | null;
  readonly end: End;
  readonly signOn: SignOn | null;
};

/** An access token with its sign-in. */
export type FoundToken = {
  readonly scope: string;
  /** Whether it is for an API by its resource URI, and that API; null if the project no longer has it. */
  readonly isForResource: boolean;
  readonly resource: Resource | null;
  /** The key that it is bound to. */
  readonly jkt: string | null;
  /** In seconds since 1970. */
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly end: End;
  readonly signOn: SignOn | null;
  /** The part of its application's configuration that declared claims depend on, if any are declared; only for introspection. */
  readonly declaring?: JsonObject | null;
};

/** Whether a token belongs to a client with a document, but its API no longer accepts such clients. */
export const isUnaccepted = ({ resource, end }: Pick<FoundToken, "resource" | "end">): boolean =>
  end.bringsDocument === true && resource?.acceptsDocuments === false;

/** The ids of a sign-in, whether or not it is in force. */
export type End = Readonly<Record<"signOnId" | "userId" | "userOwner" | "appId" | "clientId" | "sessionId", string>> & {
  /** The application's project; null if the application is not active. */
  readonly projectId: string | null;
  /** Whether the application is a client that brings its own document. */
  readonly bringsDocument: boolean | null;
};

const end = `(select json_build_object('signOnId', o.sign_on_id, 'userId', o.user_id,
        'userOwner', (select v.owner from browser_sessions v where v.session_id = o.session_id), 'appId', o.app_id,
        'clientId', x.client_id, 'sessionId', o.session_id, 'projectId', case when x.active then x.project_id end,
        'bringsDocument', x.is_document)
      from (select) one left join applications x on x.app_id = o.app_id)`;

// Project and organization are the client's own, which equal the sign-in's wherever its tokens are valid.
const signOn = `(select ${signOnValue} from ${signOnTables})`;

const epoch = (time: string) => `floor(extract(epoch from ${time}))`;

const code = `json_build_object('redirectUri', g.redirect_uri, 'challenge', g.challenge, 'jkt', g.jkt, 'isUsed', g.used is not null,
      'isExpired', g.expiration_date <= asked.now, 'end', ${end}, 'signOn', ${signOn})`;

const refresh = `json_build_object('isSwept', g.hash is null,
      'isExpired', g.expiration_date <= asked.now or o.expiration_date <= asked.now,
      'replacedMs', extract(epoch from asked.now - g.replaced) * 1000, 'successor', encode(g.successor, 'hex'), 'jkt', o.jkt,
      'end', ${end}, 'signOn', ${signOn})`;

const projectOfSignOn = "(select x.project_id from applications x where x.app_id = o.app_id)";

const tokenOf = (more = "") => `json_build_object('scope', g.scope, 'isForResource', g.resource is not null,
      'resource', case when g.resource is not null then ${resourceOf("g.resource", projectOfSignOn)} end, 'jkt', g.jkt, 'issuedAt', ${epoch("g.created")},
      'expiresAt', ${epoch("g.expiration_date")}, 'end', ${end}, 'signOn', ${signOn}${more})`;

const declaring = `,
      'declaring', (select json_build_object('declaredClaims', x.oidc->'declaredClaims', 'firstParty', x.oidc->'firstParty')
        from applications x where x.app_id = o.app_id and jsonb_array_length(x.oidc->'declaredClaims') > 0)`;

const device = `json_build_object('appId', g.app_id, 'isUsed', g.used is not null, 'isDenied', g.denied is not null,
      'isExpired', g.expiration_date <= asked.now, 'end', case when o.sign_on_id is not null then ${end} end, 'signOn', ${signOn})`;

const presented = (value: string, table: string, condition = ""): Question => {
  const tables = `${table} g join sign_ons o on o.sign_on_id = g.sign_on_id
     where g.hash = decode(asked.hash, 'hex')${condition}`;
  return { asked: lookup, found: `select ${value} from ${tables}`, appOf: `select o.app_id from ${tables}` };
};

const lookup = "client_id text, now timestamptz, hash text";

/** The SQL of what a client presents, and of the application that it was issued to: a client with a document is known by that alone. */
type Question = { readonly asked: string; readonly found: string; readonly appOf?: string };

const byDocument = (appOf: string) => `asked cross join lateral (${appOf} offset 0) g
    join applications a on a.app_id = g.app_id and (a.client_id = asked.client_id and a.is_document) is true
    join projects p on p.project_id = a.project_id join organizations h on h.organization_id = a.owner`;

/** A client, with the code or token that it presents. */
export type ClientWith<T> = { readonly client: Client; readonly found: T | null };

function presentedRead<K extends Lookup, T>(sql: Sql, { asked, found, appOf }: Question) {
  type Row = { client: ClientRow; found: T | null };
  const from = (tables: string) =>
    loadOne<K, Row>(sql, {
      asked,
      select: `select n, ${clientColumn},
    (${found}) as found
    from ${tables}`,
    });
  const read = from(`asked join ${clientTables}`);
  const ofDocument = appOf === undefined ? undefined : from(byDocument(appOf));
  return async (key: K): Promise<ClientWith<T> | undefined> => {
    const mayBring = ofDocument !== undefined && isDocumentId(key.client_id);
    const row = (mayBring ? await ofDocument(key) : undefined) ?? (await read(key));
    return row && { client: clientOf(row.client), found: row.found };
  };
}

function readWith<T>(sql: Sql, question: Question) {
  const read = presentedRead<Lookup, T>(sql, question);
  return (clientId: string, value: string, now: Date): Promise<ClientWith<T> | undefined> =>
    read({ client_id: clientId, now: now.toISOString(), hash: hashToken(value).toString("hex") });
}

/** Reads a client and a code. */
export const clientAndCode = (sql: Sql) => readWith<FoundCode>(sql, presented(code, "authorization_codes"));

/** Reads a client and a code of a device. */
export const clientAndDevice = (sql: Sql) =>
  readWith<FoundDevice>(sql, {
    asked: lookup,
    found: `select ${device} from device_codes g left join sign_ons o on o.sign_on_id = g.sign_on_id
     where g.hash = decode(asked.hash, 'hex')`,
  });

const signOnOfRefresh = `o.sign_on_id = coalesce((select t.sign_on_id from refresh_tokens t where t.hash = decode(asked.hash, 'hex')),
       (select f.sign_on_id from sign_ons f where f.refresh_family = decode(asked.family, 'hex')))`;

/** Reads a client and a refresh token, even one whose row has been deleted: the part that all tokens of a sign-in share identifies it. */
export function clientAndRefresh(sql: Sql) {
  const read = presentedRead<Lookup & { readonly family: string }, FoundRefresh>(sql, {
    asked: `${lookup}, family text`,
    found: `select ${refresh} from sign_ons o left join refresh_tokens g
       on g.sign_on_id = o.sign_on_id and g.hash = decode(asked.hash, 'hex')
     where ${signOnOfRefresh}`,
    appOf: `select o.app_id from sign_ons o where ${signOnOfRefresh}`,
  });
  return (clientId: string, text: string, now: Date): Promise<ClientWith<FoundRefresh> | undefined> => {
    const of = { client_id: clientId, now: now.toISOString(), hash: hexOf(text) };
    return read({ ...of, family: hexOf(familyOf(text) ?? "") });
  };
}

const hexOf = (text: string): string => (text === "" ? "" : hashToken(text).toString("hex"));

/** Reads a client and an unexpired access token of its project. */
export const clientAndToken = (sql: Sql) =>
  readWith<FoundToken>(sql, presented(tokenOf(declaring), "sign_on_tokens", " and g.expiration_date > asked.now"));

/** Reads an unexpired access token, with the application that it was issued to, if that is active. */
export function tokenRead(sql: Sql) {
  const read = loadOne<Omit<Lookup, "client_id">, { client: ClientRow; found: FoundToken }>(sql, {
    asked: "now timestamptz, hash text",
    select: `select n, ${clientColumn}, ${tokenOf()} as found
      from asked join sign_on_tokens g on g.hash = decode(asked.hash, 'hex') and g.expiration_date > asked.now
      join sign_ons o on o.sign_on_id = g.sign_on_id
      join applications a on a.app_id = o.app_id
      join projects p on p.project_id = a.project_id join organizations h on h.organization_id = a.owner`,
  });
  return async (value: string, now: Date): Promise<{ client: Client; found: FoundToken } | undefined> => {
    const row = await read({ now: now.toISOString(), hash: hashToken(value).toString("hex") });
    return row && { client: clientOf(row.client), found: row.found };
  };
}

export function clientRead(sql: Sql) {
  const read = loadOne<Omit<Lookup, "hash">, { client: ClientRow }>(sql, {
    asked: "client_id text, now timestamptz",
    select: `select n, ${clientColumn} from asked join ${clientTables}`,
  });
  return async (clientId: string, now: Date): Promise<Client | undefined> => {
    const row = await read({ client_id: clientId, now: now.toISOString() });
    return row && clientOf(row.client);
  };
}

/** Reads a sign-in in force, by its id and its client's. */
export function signOnRead(sql: Sql) {
  const read = loadOne<{ id: string; now: string }, { signOn: SignOn | null }>(sql, {
    asked: "id text, now timestamptz",
    select: `select n, ${signOn} as "signOn" from asked join sign_ons o on o.sign_on_id = asked.id
      join applications a on a.app_id = o.app_id
      join projects p on p.project_id = a.project_id join organizations h on h.organization_id = a.owner`,
  });
  return async (id: string, now: Date) => (await read({ id, now: now.toISOString() }))?.signOn ?? undefined;
}

/** A sign-in that has not begun. */
export type PlannedSignOn = Readonly<Record<"userId" | "appId" | "projectId" | "scope", string>> & {
  readonly organizationId: string | undefined;
  readonly methods: readonly string[];
};

/** Makes the read of what a sign-in that began now would say about a user; undefined if it would not be valid. */
export function plannedSignOnRead(sql: Sql) {
  type Key = Readonly<Record<"user_id" | "app_id" | "project_id" | "scope" | "now", string>> & {
    readonly organization: string | null;
    readonly methods: readonly string[];
  };
  const read = loadOne<Key, { signOn: SignOn | null }>(sql, {
    asked: "user_id text, app_id text, project_id text, organization text, scope text, methods text[], now timestamptz",
    select: `select n, (select ${signOnValue} from (
        select asked.user_id, asked.now as auth_time, asked.methods) b
      ${plannedSignOnTables}) as "signOn"
      from asked join projects p on p.project_id = asked.project_id join organizations h on h.organization_id = p.owner
      cross join lateral (
        select '' as sign_on_id, '' as session_id, asked.app_id, asked.scope, null::text as nonce, false as for_api, null::jsonb as resources,
          asked.now as created, coalesce(asked.organization, v.owner) as organization_id
        from users v where v.user_id = asked.user_id) o`,
  });
  return async (of: PlannedSignOn, now: Date, signal: AbortSignal): Promise<SignOn | undefined> => {
    const { userId: user_id, appId: app_id, projectId: project_id, organizationId: organization = null } = of;
    const key = { user_id, app_id, project_id, organization, scope: of.scope, methods: of.methods };
    return (await read({ ...key, now: now.toISOString() }, signal))?.signOn ?? undefined;
  };
}
