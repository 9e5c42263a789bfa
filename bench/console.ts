import { setTimeout as after } from "node:timers/promises";
import { type Row, row } from "../packages/gateway/bench/report.ts";
import { middle, type Pace } from "../packages/gateway/bench/rounds.ts";
import { round } from "../packages/gateway/bench/stats.ts";
import { type Browser, type Page, startChromium } from "../test/clients/browser/chromium.ts";
import { openClient } from "../test/fixture/database_client.ts";
import { filling, largest, type Skew } from "../test/weight/skewed.ts";
import { startDatabaseServer } from "./server.ts";
import { type SystemUnderTest, startSystem } from "./system_under_test.ts";

const few: Skew = { organizations: 10, users: 100, things: 10, events: 1000 };
const many: Skew = { organizations: 5000, users: 100_000, things: 2000, events: 200_000 };

const pages = {
  users: "/users",
  organizations: "/organizations",
  projects: "/projects",
  "roles of a project": "/projects/p1",
  "grants of a project": "/projects/p1/grants",
  applications: "/applications",
};

/** How long a page of the console takes from the click to its first rows, by an instance that is full and by one with a page of ten. */
export async function consolePages({ rounds }: Pace): Promise<Row[]> {
  await using databases = await startDatabaseServer();
  await using small = await startSystem(databases, "few");
  await using large = await startSystem(databases, "many");
  await using chromium = await startChromium();
  const sides = [await open(chromium, small, few), await open(chromium, large, many)] as const;
  const rows: Row[] = [];
  for (const [name, path] of Object.entries(pages)) {
    const [ofFew, ofMany] = [[] as number[], [] as number[]];
    // The first of each loads the page itself.
    for (let at = -1; at < rounds; at++) {
      const times = [await firstRows(sides[0], path), await firstRows(sides[1], path)] as const;
      if (at < 0) continue;
      ofFew.push(times[0]);
      ofMany.push(times[1]);
    }
    const [least, most] = [middle(ofFew, Number), middle(ofMany, Number)];
    const figures = { "ms few": round(least), "ms many": round(most), ratio: round(most / least) };
    rows.push({ ...row(name, "console", figures), goals: { ratio: { most: 2 } } });
  }
  return rows;
}

/** Fills an instance, and signs an owner of it in, who works in its largest organization. */
async function open(chromium: Browser, system: SystemUnderTest, size: Skew): Promise<Page> {
  await using database = openClient(system.databaseUrl);
  await database.client.unsafe(filling(size));
  const person = { username: "ruler", givenName: "Ada", familyName: "King", email: "ruler@example.com" };
  const password = "Blue-Kettle-42";
  const { userId } = await post(system, "/v1/users/human", { ...person, password });
  await post(system, "/v1/members", { userId, roles: ["INSTANCE_OWNER"], instance: true });
  const page = await (await chromium.apart()).open(`${system.server.url}/console/why?org=${largest}`);
  await until(page, is, "[name=login_name]");
  await page.run(signIn, person.username, password);
  await until(page, is, ".frame main h1");
  return page;
}

async function post({ server, token }: SystemUnderTest, path: string, body: object): Promise<Record<string, string>> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", "x-service-orgid": largest };
  const response = await fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  return (await response.json()) as Record<string, string>;
}

const is = "((selector) => document.querySelector(selector) !== null)";
const signIn = `((loginName, password) => {
  document.querySelector("[name=login_name]").value = loginName;
  document.querySelector("[name=password]").value = password;
  document.querySelector("[value=password]").click();
})`;
const go = `(async (path, wanted) => {
  const begin = performance.now();
  const link = document.body.appendChild(document.createElement("a"));
  link.href = path;
  link.click();
  link.remove();
  while (location.pathname + location.search !== path || !document.querySelector(wanted)) {
    if (performance.now() - begin > 30_000) throw new Error(path + " shows no " + wanted + ": " + document.querySelector("main").innerText);
    await new Promise(requestAnimationFrame);
  }
  return performance.now() - begin;
})`;

async function firstRows(page: Page, path: string): Promise<number> {
  await page.raw("Page.bringToFront");
  await page.run(go, "/console/why", "main h1 ~ *, main .filters, main form, main .card");
  await until(page, "(() => document.querySelector('main tbody tr') === null)");
  return Number(await page.run(go, `/console${path}`, "main tbody tr"));
}

/** Waits until a function of the page answers true. While one page goes and another comes nothing can be asked. */
async function until(page: Page, name: string, ...given: unknown[]): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (await page.run(name, ...given).catch(() => false)) return;
    await after(100);
  }
  throw new Error(`the page never came to ${name}`);
}
