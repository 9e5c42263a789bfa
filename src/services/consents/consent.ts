import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { type ConsentService, ListConnectedApplicationsRequestSchema } from "../../../gen/postern/v1/consent_pb.ts";
import { SignOnEnd, SignOnEndSchema } from "../../../gen/postern/v1/sign_on_pb.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { detailsAfter, factOf, first, next, type Versioned } from "../../events/fact.ts";
import type { Cascade, NounFolds } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import { lostRace } from "../../events/log.ts";
import type { Fragment, Sql } from "../../postgres/pool/connect.ts";
import { userExistsRead } from "../callers/user_exists.ts";
import { cut, type PagePart, pageOf, pageRule } from "../reading/page.ts";

/** The applications that users have signed in to, and the consents they gave to those of other organizations. */
export const consentService = ({ log, sql, clock, ids }: Deps) => {
  const userExists = userExistsRead(sql);
  const connectionOf = connectionRead(sql);

  return {
    async listConnectedApplications(request, call) {
      const page = pageOf(ListConnectedApplicationsRequestSchema, request, 1);
      const user = { owner: organizationOf(call), id: request.userId };
      if (!(await userExists(user, call.signal))) throw refuse.notFound("user", user.id);
      const rows = await applicationsOf(sql, user.id, { ...page, now: clock() });
      const { rows: shown, nextPageToken } = cut(rows, page, ({ appId }) => [appId]);
      return { applications: shown.map(application), nextPageToken };
    },

    async disconnectApplication({ userId, appId }, call) {
      const owner = organizationOf(call);
      if (!(await userExists({ owner, id: userId }, call.signal))) throw refuse.notFound("user", userId);
      const { isConnected, ...row } = await connectionOf({ user: userId, app: appId, now: clock() }, call.signal);
      if (!isConnected) throw refuse.notFound("connection", appId);
      const at = isStored(row) ? next(row, clock()) : first(owner, ids(), clock());
      const value = { userId, appId, byAdministrator: userId !== callerOf(call).userId };
      const withdrawn = factOf("consent", at, { case: "withdrawn", value });
      return log.append(call, [withdrawn], { details: detailsAfter(at) });
    },
  } satisfies ServiceImpl<typeof ConsentService>;
};

export const consentRules = [pageRule(ListConnectedApplicationsRequestSchema, 1)];

export type NewConsent = {
  readonly owner: string;
  readonly userId: string;
  readonly appId: string;
  readonly scopes: readonly string[];
};

// A request can name any organization in its scopes, so the list is capped.
const mostScopes = 100;
const mostRaces = 5;

/** Makes the function that records a user's consent, including the scopes that the user allowed before. */
export function consents({ log, sql, clock, ids }: Pick<Deps, "log" | "sql" | "clock" | "ids">) {
  const connectionOf = connectionRead(sql);

  async function give(consent: NewConsent, call: Call): Promise<boolean> {
    const { owner, userId, appId, scopes } = consent;
    const row = await connectionOf({ user: userId, app: appId, now: clock() }, call.signal);
    const before = row.scopes ?? [];
    if (isStored(row) && scopes.every((scope) => before.includes(scope))) return true;
    const at = isStored(row) ? next(row, clock()) : first(owner, ids(), clock());
    const all = [...new Set([...scopes, ...before])].slice(0, mostScopes);
    const given = factOf("consent", at, { case: "given", value: { userId, appId, scopes: all } });
    return log.append(call, [given], true).catch(lostRace);
  }

  return async (consent: NewConsent, call: Call): Promise<void> => {
    for (let races = 0; races < mostRaces; races++) if (await give(consent, call)) return;
    throw refuse.because("CONFLICT", { params: { constraint: "consents_user_app" } });
  };
}

const signOnsEnd: Cascade = {
  makes: "sign_on.ended",
  extent: "few",
  select: `select i.n, b.owner, s.sign_on_id, 1::bigint, jsonb_build_object('userId', s.user_id, 'appId', s.app_id,
             'sessionId', s.session_id, 'reason', '${SignOnEndSchema.value[SignOnEnd.DISCONNECTED]?.name}')
           from $input i join sign_ons s on s.user_id = i.payload->>'userId' and s.app_id = i.payload->>'appId'
             and s.expiration_date > i.time
           join browser_sessions b on b.session_id = s.session_id`,
};

export const consentFolds = {
  given: {
    views: [
      `insert into consents as c (owner, consent_id, user_id, app_id, scopes, version, created, changed)
       select f.owner, f.stream, f.payload->>'userId', f.payload->>'appId',
         array(select jsonb_array_elements_text(f.payload->'scopes')), f.version, f.time, f.time from $facts f
       on conflict (consent_id) do update
         set scopes = excluded.scopes, version = excluded.version, changed = excluded.changed`,
    ],
  },
  withdrawn: {
    views: [`delete from consents c using $facts f where c.consent_id = f.stream`],
    credentials: [
      `delete from acting_machines a using $facts f
       where a.user_id = f.payload->>'userId' and a.app_id = f.payload->>'appId'`,
    ],
    cascades: [signOnsEnd],
  },
} satisfies NounFolds<"consent">;

type StoredConsent = Versioned & { readonly scopes: readonly string[] };

/** A user's consent to an application, with null columns if there is none, and whether the two are connected. */
type Connection = { readonly isConnected: boolean } & (StoredConsent | { readonly id: null; readonly scopes: null });

const isStored = (row: StoredConsent | { readonly id: null }): row is StoredConsent => row.id !== null;

function connectionRead(sql: Sql) {
  const read = loadOne<{ user: string; app: string; now: string }, Connection>(sql, {
    asked: `"user" text, app text, now timestamptz`,
    select: `select n, c.consent_id as id, c.owner, c.scopes, c.version, c.created, c.changed,
        c.consent_id is not null or exists (select from sign_ons s
          where s.user_id = asked."user" and s.app_id = asked.app and s.expiration_date > asked.now offset 0)
        or exists (select from acting_machines m
          where m.user_id = asked."user" and m.app_id = asked.app and m.expiration_date > asked.now offset 0) as "isConnected"
      from asked left join consents c on c.user_id = asked."user" and c.app_id = asked.app`,
  });
  const none = { isConnected: false, id: null, scopes: null } as const;
  return async (key: { user: string; app: string; now: Date }, signal: AbortSignal): Promise<Connection> =>
    (await read({ ...key, now: key.now.toISOString() }, signal)) ?? none;
}

type ConnectedApplicationRow = {
  readonly appId: string;
  readonly name: string;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly scopes: readonly string[] | null;
  readonly consentDate: Date | null;
  readonly lastSignInDate: Date | null;
  readonly isOffline: boolean;
  readonly offlineSinceDate: Date | null;
  readonly actingMachines: readonly ActingRow[];
};

type ActingRow = Readonly<Record<"userId" | "name" | "apiId" | "apiName" | "firstDate" | "lastDate", string>>;

const mostActing = 20;

/**
 * A page of the applications that a user is connected to: by a consent, a sign-in, or a machine that acted by one. It goes from one
 * application to the next, and to the latest sign-in of each, by index: a user may have signed in thousands of times. Ids of sign-ins are
 * in the order of time; rows are compared as a whole, because no other index has that order.
 */
export const applicationsOf = (
  sql: Sql,
  userId: string,
  { after, limit, now }: PagePart & { readonly now: Date },
) => sql<ConnectedApplicationRow[]>`
  with recursive used (app_id) as ${usedBy(sql, userId, { after, now })},
  page (app_id) as materialized ${idsOf(sql, userId, { after, limit })}
  select k.app_id as "appId", a.name, a.owner as "organizationId", a.organization_name as "organizationName",
    c.scopes, c.changed as "consentDate", s.last as "lastSignInDate",
    f.first is not null as "isOffline", f.first as "offlineSinceDate", acting.machines as "actingMachines"
  from page k
  cross join lateral (
    select a.name, a.owner, h.name as organization_name
    from applications a join organizations h on h.organization_id = a.owner where a.app_id = k.app_id offset 0) a
  left join lateral (
    select c.scopes, c.changed from consents c where c.user_id = ${userId} and c.app_id = k.app_id offset 0) c on true
  left join lateral (
    select l.created as last from (
      select o.user_id, o.app_id, o.created from sign_ons o
      where (o.user_id, o.app_id) <= (${userId}, k.app_id) and o.expiration_date > ${now}
      order by o.user_id desc, o.app_id desc, o.sign_on_id desc limit 1) l
    where l.user_id = ${userId} and l.app_id = k.app_id) s on true
  cross join lateral (
    select min(o.created) as first from (
      select o.sign_on_id, o.created, o.expiration_date from sign_ons o
      where o.user_id = ${userId} and o.app_id = k.app_id and o.refresh_family is not null offset 0) o
    where o.expiration_date > ${now}
      and exists (select from refresh_tokens r
        where r.sign_on_id = o.sign_on_id and r.replaced is null and r.expiration_date > ${now})
  ) f
  cross join lateral ${actingAt(sql, userId, now)} acting
  order by k.app_id`;

/** The ids of the applications that hold tokens of a user, or with whose tokens machines acted, from one to the next by index. */
const usedBy = (
  sql: Sql,
  userId: string,
  { after, now }: Pick<PagePart, "after"> & { readonly now: Date },
): Fragment => sql`(
    select ${after?.[0] ?? ""}::text
    union all
    select n.app_id from used k cross join lateral (select least(
      (select o.app_id from sign_ons o
      where (o.user_id, o.app_id) > (${userId}, k.app_id) and o.user_id <= ${userId} and o.expiration_date > ${now}
      order by o.user_id, o.app_id limit 1),
      (select m.app_id from acting_machines m
      where (m.user_id, m.app_id) > (${userId}, k.app_id) and m.user_id <= ${userId} and m.expiration_date > ${now}
      order by m.user_id, m.app_id limit 1)) as app_id) n
    where n.app_id is not null
  )`;

/** The ids of a page of applications that still exist, of those that the user consented to or has `used`. */
const idsOf = (sql: Sql, userId: string, { after, limit }: PagePart): Fragment => sql`(
    select app_id from (
      select app_id from (
        select c.app_id from consents c
        where c.user_id = ${userId} and c.app_id > ${after?.[0] ?? ""}
          and exists (select from applications a where a.app_id = c.app_id offset 0)
        order by c.app_id limit ${limit}) c
      union
      select app_id from used k
      where k.app_id > ${after?.[0] ?? ""} and exists (select from applications a where a.app_id = k.app_id offset 0)
    ) k order by app_id limit ${limit}
  )`;

/** The latest machines that acted for a user with tokens of the application `k`. */
const actingAt = (sql: Sql, userId: string, now: Date): Fragment => sql`(
    select coalesce(json_agg(json_build_object('userId', u.user_id, 'name', u.name, 'apiId', y.app_id, 'apiName', y.name,
      'firstDate', m.first_used, 'lastDate', m.last_used) order by m.last_used desc, u.user_id, y.app_id), '[]') as machines
    from (
      select * from acting_machines m where m.user_id = ${userId} and m.app_id = k.app_id and m.expiration_date > ${now}
      order by m.user_id desc, m.app_id desc, m.last_used desc limit ${mostActing}
    ) m
    cross join lateral (select u.user_id, u.name from users u where u.user_id = m.machine_id offset 0) u
    cross join lateral (select y.app_id, y.name from applications y where y.app_id = m.api_id offset 0) y
  )`;

const dateOf = (text: string) => timestampFromDate(new Date(text));

export const application = ({
  scopes,
  consentDate,
  lastSignInDate,
  offlineSinceDate,
  actingMachines,
  ...row
}: ConnectedApplicationRow) => ({
  ...row,
  scopes: [...(scopes ?? [])],
  ...(consentDate === null ? {} : { consentDate: timestampFromDate(consentDate) }),
  ...(lastSignInDate === null ? {} : { lastSignInDate: timestampFromDate(lastSignInDate) }),
  ...(offlineSinceDate === null ? {} : { offlineSinceDate: timestampFromDate(offlineSinceDate) }),
  actingMachines: actingMachines.map(({ firstDate, lastDate, ...machine }) => ({
    ...machine,
    firstDate: dateOf(firstDate),
    lastDate: dateOf(lastDate),
  })),
});
