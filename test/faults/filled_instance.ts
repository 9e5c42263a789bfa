import { type Answer, type Client, clientOf } from "../harness.ts";
import { ask } from "../postgres/embedded/holder.ts";

/** An organization with a project whose role `reader` everybody holds. */
export type Filled = { readonly organizationId: string; readonly projectId: string };

type FillOptions = { readonly url: string; readonly token: string; readonly users: number };

const atOnce = 500;

/** Fills an instance through its own calls: one organization has 30 % of the users, one 10 %, and many share the others. */
export async function fillInstance({ url, token, users }: FillOptions): Promise<readonly Filled[]> {
  const admin = clientOf(url, token);
  const filled: Filled[] = [];
  const sizes = sizesOf(users);
  const work = async () => {
    for (let size = sizes.shift(); size !== undefined; size = sizes.shift())
      filled.push(await organization(admin, { size, name: `Company ${sizes.length}` }));
  };
  await Promise.all(Array.from({ length: 4 }, work));
  return filled;
}

const eventsAtOnce = 20_000;

/** Adds sessions that the users began and ended, until the log has so many events. */
export async function fillLog(databaseUrl: string, events: number): Promise<void> {
  const [row] = await ask<{ count: number }>(databaseUrl, "select count(*)::integer as count from events");
  for (let made = row?.count ?? 0; made < events; made += eventsAtOnce)
    await ask(
      databaseUrl,
      `insert into events (owner, stream, version, type, payload, actor, request_id, time)
       select u.owner, 'session-' || n, v, case v when 1 then 'session.created' else 'session.ended' end,
         jsonb_build_object('userId', u.user_id)
           || case v when 1 then jsonb_build_object('expirationDate', '2030-01-01T00:00:00Z') else '{}' end,
         u.user_id, 'filled', date_trunc('milliseconds', now())
       from (select owner, user_id, row_number() over () - 1 as nth, count(*) over () as count from users) u
       cross join lateral generate_series(
         ${made} + (u.nth - ${made} % u.count + u.count) % u.count, ${made + Math.min(eventsAtOnce, events - made) / 2 - 1}, u.count) n
       cross join generate_series(1, 2) v`,
    );
}

/** The numbers of users by a power law. */
function sizesOf(users: number): number[] {
  const others = Math.max(3, Math.round(users / 200));
  const weights = Array.from({ length: others }, (_, n) => 1 / (n + 1));
  const sum = weights.reduce((one, other) => one + other);
  return [0.3, 0.1, ...weights.map((weight) => (0.6 * weight) / sum)].map((part) => Math.ceil(part * users));
}

async function organization(admin: Client, { size, name }: { size: number; name: string }): Promise<Filled> {
  const { organizationId } = done(await admin.post("/v1/organizations", { name }));
  const inside = { "x-service-orgid": String(organizationId) };
  const { projectId } = done(await admin.post("/v1/projects", { name: "Intranet" }, inside));
  done(await admin.post(`/v1/projects/${projectId}/roles`, { key: "reader" }, inside));
  const app = { name: "Portal", redirectUris: ["https://portal.example.com/callback"] };
  done(await admin.post(`/v1/projects/${projectId}/applications/oidc`, app, inside));
  for (let at = 0; at < size; at += atOnce) {
    const items = Array.from({ length: Math.min(atOnce, size - at) }, (_, n) => ({ human: person(name, at + n) }));
    const { outcomes } = done(await admin.post("/v1/users:batchCreate", { items }, inside));
    const userIds = outcomes.map((one: { created: { userId: string } }) => one.created.userId);
    const grants = userIds.map((userId: string) => ({ userId, projectId, roleKeys: ["reader"] }));
    done(await admin.post("/v1/user-grants:batchAdd", { items: grants }, inside));
  }
  return { organizationId, projectId };
}

const person = (company: string, n: number) => ({
  username: `person-${n}.${company.replace(" ", "-").toLowerCase()}`,
  givenName: n % 10 === 0 ? "Zoë" : "Ada",
  familyName: `Byron ${n % 500}`,
  email: `person-${n}@example.com`,
  ...(n % 5 === 0 ? { phone: `+4179${String(n).padStart(7, "0")}` } : {}),
});

function done({ status, body }: Answer) {
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}
