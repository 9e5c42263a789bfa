import type { JsonObject } from "@bufbuild/protobuf";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { hashToken } from "../../security/token.ts";
import { type Client, type ClientRow, clientColumn, clientOf, clientTables } from "../request/client.ts";
import { familyOf } from "./refresh_token.ts";
import { type SignOn, signOnTables, signOnValue } from "./subject.ts";

type Lookup = { readonly client_id: string; readonly now: string; readonly hash: string };

/** A code with its sign-in, which is null if it is no longer in force. */
export type FoundCode = {
  readonly redirectUri: string;
  readonly challenge: string | null;
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
  readonly end: End;
  readonly signOn: SignOn | null;
};

/** An access token with its sign-in. */
export type FoundToken = {
  readonly scope: string;
  /** In seconds since 1970. */
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly end: End;
  readonly signOn: SignOn | null;
  /** The part of its application's configuration that its declared claims depend on, if any are declared; only for introspection. */
  readonly declaring?: JsonObject | null;
};

/** The ids of a sign-in, whether or not it is in force. */
export type End = Readonly<Record<"signOnId" | "userId" | "userOwner" | "appId" | "clientId" | "sessionId", string>> & {
  /** The application's project; null if the application is not active. */
  readonly projectId: string | null;
};

const end = `json_build_object('signOnId', o.sign_on_id, 'userId', o.user_id,
        'userOwner', (select v.owner from browser_sessions v where v.session_id = o.session_id), 'appId', o.app_id,
        'clientId', (select x.client_id from applications x where x.app_id = o.app_id), 'sessionId', o.session_id,
        'projectId', (select x.project_id from applications x where x.app_id = o.app_id and x.active))`;

// Project and organization stand for the client's own, which are the sign-in's wherever its tokens count.
const signOn = `(select ${signOnValue} from ${signOnTables})`;

const epoch = (time: string) => `floor(extract(epoch from ${time}))`;

const code = `json_build_object('redirectUri', g.redirect_uri, 'challenge', g.challenge, 'isUsed', g.used is not null,
      'isExpired', g.expiration_date <= asked.now, 'end', ${end}, 'signOn', ${signOn})`;

const refresh = `json_build_object('isSwept', g.hash is null,
      'isExpired', g.expiration_date <= asked.now or o.expiration_date <= asked.now,
      'replacedMs', extract(epoch from asked.now - g.replaced) * 1000, 'successor', encode(g.successor, 'hex'),
      'end', ${end}, 'signOn', ${signOn})`;

const tokenOf = (more = "") => `json_build_object('scope', g.scope, 'issuedAt', ${epoch("g.created")},
      'expiresAt', ${epoch("g.expiration_date")}, 'end', ${end}, 'signOn', ${signOn}${more})`;

const declaring = `,
      'declaring', (select json_build_object('declaredClaims', x.oidc->'declaredClaims', 'firstParty', x.oidc->'firstParty')
        from applications x where x.app_id = o.app_id and jsonb_array_length(x.oidc->'declaredClaims') > 0)`;

const device = `json_build_object('appId', g.app_id, 'isUsed', g.used is not null, 'isDenied', g.denied is not null,
      'isExpired', g.expiration_date <= asked.now, 'end', case when o.sign_on_id is not null then ${end} end, 'signOn', ${signOn})`;

const ofClient = (value: string, table: string, condition = "") => ({
  asked: "client_id text, now timestamptz, hash text",
  select: `select n, ${clientColumn},
    (select ${value} from ${table} g join sign_ons o on o.sign_on_id = g.sign_on_id
     where g.hash = decode(asked.hash, 'hex')${condition}) as found
    from asked join ${clientTables}`,
});

/** A client, with the code or token that it presents. */
export type ClientWith<T> = { readonly client: Client; readonly found: T | null };

function readWith<T>(sql: Sql, question: { asked: string; select: string }) {
  const read = loadOne<Lookup, { client: ClientRow; found: T | null }>(sql, question);
  return async (clientId: string, value: string, now: Date): Promise<ClientWith<T> | undefined> => {
    const hash = hashToken(value).toString("hex");
    const row = await read({ client_id: clientId, now: now.toISOString(), hash });
    return row && { client: clientOf(row.client), found: row.found };
  };
}

/** Reads a client and a code. */
export const clientAndCode = (sql: Sql) => readWith<FoundCode>(sql, ofClient(code, "authorization_codes"));

/** Reads a client and a code of a device. */
export const clientAndDevice = (sql: Sql) =>
  readWith<FoundDevice>(sql, {
    asked: "client_id text, now timestamptz, hash text",
    select: `select n, ${clientColumn},
    (select ${device} from device_codes g left join sign_ons o on o.sign_on_id = g.sign_on_id
     where g.hash = decode(asked.hash, 'hex')) as found
    from asked join ${clientTables}`,
  });

/** Reads a client and a refresh token, even one whose row has been deleted: the part that all tokens of a sign-in share identifies it. */
export function clientAndRefresh(sql: Sql) {
  const read = loadOne<Lookup & { family: string }, { client: ClientRow; found: FoundRefresh | null }>(sql, {
    asked: "client_id text, now timestamptz, hash text, family text",
    select: `select n, ${clientColumn},
    (select ${refresh} from sign_ons o left join refresh_tokens g
       on g.sign_on_id = o.sign_on_id and g.hash = decode(asked.hash, 'hex')
     where o.sign_on_id = coalesce((select t.sign_on_id from refresh_tokens t where t.hash = decode(asked.hash, 'hex')),
       (select f.sign_on_id from sign_ons f where f.refresh_family = decode(asked.family, 'hex')))) as found
    from asked join ${clientTables}`,
  });
  return async (clientId: string, text: string, now: Date): Promise<ClientWith<FoundRefresh> | undefined> => {
    const of = { client_id: clientId, now: now.toISOString(), hash: hexOf(text) };
    const row = await read({ ...of, family: hexOf(familyOf(text) ?? "") });
    return row && { client: clientOf(row.client), found: row.found };
  };
}

const hexOf = (text: string): string => (text === "" ? "" : hashToken(text).toString("hex"));

/** Reads a client and an unexpired access token of its project. */
export const clientAndToken = (sql: Sql) =>
  readWith<FoundToken>(sql, ofClient(tokenOf(declaring), "sign_on_tokens", " and g.expiration_date > asked.now"));

/** Reads an unexpired access token, with the application that it was issued to if that is active. */
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
