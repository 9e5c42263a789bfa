import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { rebuild } from "../../../src/events/rebuild.ts";
import { folds } from "../../../src/runtime/modules.ts";
import { oneConnection } from "../../events/log_of.ts";
import { holdTable } from "../../fixture/held_row.ts";
import { newEraser } from "../../fixture/organization.ts";
import { type Answer, organization, type Postern, startPostern } from "../../harness.ts";
import { loopback } from "../../provider/https_server.ts";
import { openEventReceiver, signersOf } from "./receiver.ts";

let postern: Postern;
let receiver: Awaited<ReturnType<typeof openEventReceiver>>;
beforeAll(async () => {
  receiver = await openEventReceiver();
  const { outgoingCaFile } = receiver;
  postern = await startPostern({ outgoingPrivateNetworks: loopback, outgoingCaFile });
});
afterAll(async () => {
  await postern?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
});

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const refused = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];
const unique = () => crypto.randomUUID().slice(0, 12);
const eventually = <T>(check: () => T | Promise<T>) => vi.waitFor(check, { timeout: 60_000, interval: 50 });

/** An organization, and calls that work in it. */
async function tenant() {
  const id = await organization(postern);
  const header = { "x-service-orgid": id };
  const { admin } = postern;
  const subscribed = async (path: string, fields: object = {}) => {
    const body = done(await admin.post("/v1/subscriptions", { url: `${receiver.url}${path}`, ...fields }, header));
    const own = `/v1/subscriptions/${body.subscriptionId}`;
    return {
      secret: body.secret as string,
      read: async () => done(await admin.get(own, header)).subscription,
      call: async (verb: string, fields = {}) => done(await admin.post(`${own}${verb}`, fields, header)),
      change: (fields: object) => admin.call("PATCH", `${own}?updateMask=${Object.keys(fields)}`, fields, header),
      remove: () => admin.delete(own, header),
    };
  };
  return {
    ...{ id, header, subscribed },
    newProject: async (): Promise<string> =>
      done(await admin.post("/v1/projects", { name: unique() }, header)).projectId,
    rename: async (projectId: string) =>
      done(await admin.call("PATCH", `/v1/projects/${projectId}`, { name: unique() }, header)),
  };
}

type Told = Readonly<Record<"position" | "type" | "objectId" | "sequence", string>> & { readonly fact: object };

const inOrder = (events: readonly Told[]): Told[] =>
  events.toSorted((one, other) => Number.parseInt(one.position, 10) - Number.parseInt(other.position, 10));

const named = (types: readonly string[], events: readonly { type: string; objectId: string }[]) =>
  events.filter(({ type }) => types.includes(type)).map(({ type, objectId }) => `${type} ${objectId}`);

test("events are posted as WatchEvents tells them, signed, to those who subscribed and to nobody else", async () => {
  const [ours, theirs] = [await tenant(), await tenant()];
  const { secret, read } = await ours.subscribed("/ours", { types: ["project.created", "project.changed"] });
  const all = await postern.admin.post("/v1/subscriptions", {
    url: `${receiver.url}/all`,
    types: ["project.created"],
    instance: true,
  });
  const projectId = await ours.newProject();
  const theirProject = await theirs.newProject();
  await ours.rename(projectId);
  await eventually(() => expect(receiver.at("/ours").length).toBe(2));
  await eventually(() => expect(receiver.at("/all").length).toBe(2));

  const { events } = done(await postern.admin.get(`/v1/events?objectId=${projectId}`, ours.header));
  expect(receiver.eventsAt("/ours")).toEqual([...events].reverse());
  expect(receiver.eventsAt("/all").map(({ objectId }) => objectId)).toEqual([projectId, theirProject]);
  const [first] = receiver.at("/ours");
  expect(first?.headers).toMatchObject({
    "content-type": "application/json",
    "webhook-id": events[1].position.replace(".", "-"),
  });
  expect(receiver.at("/ours").map((post) => signersOf(post, [secret, done(all).secret]))).toEqual([[secret], [secret]]);
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  await eventually(async () => expect((await read()).state).toBe("SUBSCRIPTION_STATE_ACTIVE"));
  expect(JSON.stringify(await read())).not.toContain(secret);
  done(await postern.admin.delete(`/v1/subscriptions/${done(all).subscriptionId}?instance=true`));
});

test("a receiver that fails gets each event again, in the order of its object; one that lies, too", async () => {
  const { subscribed, newProject, rename } = await tenant();
  const types = ["project.created", "project.changed"];
  const { read, call } = await subscribed("/fails", { types });
  const lying = await subscribed("/lies", { types });
  const lie = (response: ServerResponse): void => {
    // The status arrives before the connection breaks off.
    response.writeHead(200, { "content-length": "100" }).write("accepted, but not kept", () => {
      setTimeout(() => response.destroy(), 50);
    });
  };
  let lies = 0;
  let count = 0;
  const attempts: string[] = [];
  receiver.behave = (response, path) => {
    if (path === "/lies" && lies < 3) {
      lies += 1;
      lie(response);
      return false;
    }
    if (path !== "/fails") return true;
    count += 1;
    // With threes alone, a turn of three posts could have the first one refused for ever.
    if (count % 3 === 0 || count % 7 === 0) return true;
    if (count % 3 === 1) response.writeHead(500).end();
    else lie(response);
    attempts.push(path);
    return false;
  };
  const projects = [await newProject(), await newProject()];
  for (const projectId of projects) for (let n = 0; n < 3; n += 1) await rename(projectId);
  await eventually(async () => expect((await read()).state).toBe("SUBSCRIPTION_STATE_FAILING"));
  expect(await read()).toMatchObject({
    failure: expect.stringMatching(/it answered 500|it cannot be reached/),
    failingSince: expect.any(String),
    nextAttemptDate: expect.any(String),
  });
  // Nobody waits for the pauses, which grow.
  await eventually(async () => {
    if ((await read()).state === "SUBSCRIPTION_STATE_FAILING") await call(":resume");
    if ((await lying.read()).state === "SUBSCRIPTION_STATE_FAILING") await lying.call(":resume");
    const ids = (path: string) => new Set(receiver.at(path).map(({ headers }) => headers["webhook-id"]));
    expect([ids("/fails").size, ids("/lies").size]).toEqual([8, 8]);
  });
  receiver.behave = () => true;
  for (const projectId of projects) {
    const sequences = receiver.eventsAt("/fails").filter(({ objectId }) => objectId === projectId);
    const firsts = [...new Set(sequences.map(({ sequence }) => Number(sequence)))];
    expect(firsts).toEqual([1, 2, 3, 4]);
  }
  expect(attempts.length).toBeGreaterThan(2);
  await eventually(async () => expect((await read()).failedAttempts).toBe(0));
});

test("a receiver that says when to come back is left alone until then, for an hour at most, and is asked a last time", async () => {
  const { id, subscribed, newProject } = await tenant();
  const { read, call, remove } = await subscribed("/busy", { types: ["project.created"] });
  const later = () => new Date(Date.now() + 120_000).toUTCString();
  const asked = { status: 503, of: () => "40" };
  receiver.behave = (response, path) => {
    if (path !== "/busy") return true;
    response.writeHead(asked.status, { "retry-after": asked.of() }).end();
    return false;
  };
  /** For how long the receiver is left alone after its next response, in seconds. */
  const pause = async (status: number, of: () => string) => {
    Object.assign(asked, { status, of });
    const before = receiver.asked.get("/busy") ?? 0;
    await (before === 0 ? newProject() : call(":resume"));
    return await eventually(async () => {
      const { nextAttemptDate, failingSince, failedAttempts, failure } = await read();
      expect([receiver.asked.get("/busy"), failedAttempts, failure]).toEqual([before + 1, 1, `it answered ${status}`]);
      return Math.round((Date.parse(nextAttemptDate) - Date.parse(failingSince)) / 1000);
    });
  };
  expect(await pause(503, () => "40")).toBe(40);
  expect(await pause(429, () => "86400")).toBe(3_600);
  expect(Math.abs((await pause(503, later)) - 120)).toBeLessThanOrEqual(1);

  await using client = oneConnection(postern.databaseUrl);
  const failing = (seconds: number) => client.sql`
    update subscription_deliveries set due = now(), failing_since = now() - make_interval(days => 3, secs => ${-seconds})
    where owner = ${id}`;
  await pause(503, () => "86400");
  await failing(500);
  await eventually(async () => expect((await read()).failedAttempts).toBe(2));
  const { state, nextAttemptDate, failingSince } = await read();
  const end = Date.parse(failingSince) + 3 * 86_400_000;
  expect([state, Math.round((Date.parse(nextAttemptDate) - end) / 60_000)]).toEqual(["SUBSCRIPTION_STATE_FAILING", 0]);
  await failing(0);
  await eventually(async () => expect((await read()).state).toBe("SUBSCRIPTION_STATE_DEAD"));
  done(await remove());
  receiver.behave = () => true;
});

test("a subscription is paused, resumed, changed, replayed from a position and deleted", async () => {
  const { subscribed, newProject, header } = await tenant();
  const { call, change, read, remove } = await subscribed("/paused", { types: ["project.created"] });
  const first = await newProject();
  await eventually(() => expect(receiver.at("/paused").length).toBe(1));
  await call(":pause");
  const second = await newProject();
  // What others get meanwhile shows that this one had its chance.
  const other = await subscribed("/beside", { types: ["project.created"], after: "0" });
  await eventually(() => expect(receiver.at("/beside").length).toBe(2));
  expect(receiver.at("/paused").length).toBe(1);
  expect(await read()).toMatchObject({ state: "SUBSCRIPTION_STATE_PAUSED" });
  await call(":resume");
  await eventually(() => expect(named(["project.created"], receiver.eventsAt("/paused")).length).toBe(2));

  done(await change({ url: `${receiver.url}/moved`, types: [] }));
  const third = await newProject();
  await eventually(() =>
    expect(named(["project.created"], receiver.eventsAt("/moved"))).toEqual([`project.created ${third}`]),
  );

  const [{ position }] = receiver.eventsAt("/paused");
  await call(":replay", { after: position });
  const again = [`project.created ${third}`, `project.created ${second}`, `project.created ${third}`];
  await eventually(() => expect(named(["project.created"], receiver.eventsAt("/moved"))).toEqual(again));
  expect(receiver.eventsAt("/paused").map(({ objectId }) => objectId)).toEqual([first, second]);
  expect(
    receiver
      .eventsAt("/beside")
      .map(({ objectId }) => objectId)
      .slice(0, 2),
  ).toEqual([first, second]);

  for (const wrong of [
    { url: "http://receiver.example" },
    { url: "https://a@receiver.example" },
    { types: ["no.such"] },
  ])
    expect(refused(await change(wrong))).toEqual([400, "VALIDATION_FAILED"]);
  const lost = await postern.admin.post(
    "/v1/subscriptions",
    { url: receiver.url, after: "5.0123456789abcdef" },
    header,
  );
  expect(refused(lost)).toEqual([400, "POSITION_LOST"]);
  done(await remove());
  done(await other.remove());
  expect(done(await postern.admin.get("/v1/subscriptions", header)).subscriptions).toEqual([]);
});

test("a subscription that is behind gets the events of a user who was erased meanwhile, whole but for what was personal", async () => {
  const { id, header, subscribed, newProject } = await tenant();
  const { secret, call, remove } = await subscribed("/behind");
  await call(":pause");
  const [username, familyName] = [unique(), unique()];
  const person = {
    username,
    givenName: "Ada",
    familyName,
    email: `${username}@example.com`,
    password: "Blue-Kettle-42",
  };
  const { admin } = postern;
  const { userId } = done(await admin.post("/v1/users/human", person, header));
  const projectId = await newProject();
  done(await admin.post(`/v1/users/${userId}/grants`, { projectId }, header));
  done(await postern.as().post("/v1/sessions", { loginName: username, password: person.password }));
  const told = async (): Promise<Told[]> =>
    inOrder(done(await admin.get(`/v1/events?aboutUserId=${userId}`, header)).events);
  const place = ({ position, type, objectId, sequence }: Told) => [position, type, objectId, sequence];
  const before = await told();
  expect(JSON.stringify(before)).toContain(username);

  done(await admin.put("/v1/policies/privacy", { policy: { restoreDays: 0 } }, header));
  const eraser = await newEraser(postern, id);
  const { jobId } = done(await eraser.post(`/v1/users/${userId}:erase`));
  done(await admin.get(`/v1/jobs/${jobId}:wait?timeoutSeconds=50`, header));
  await call(":resume");
  const about = await eventually(async () => {
    const posted: Told[] = receiver.eventsAt("/behind").filter(({ aboutUserId }) => aboutUserId === userId);
    expect(inOrder(posted)).toEqual(await told());
    expect(posted.map(({ type }) => type)).toContain("user.erased");
    return inOrder(posted);
  });
  expect(about.slice(0, before.length).map(place)).toEqual(before.map(place));
  for (const type of ["user_grant.added", "session.created"])
    expect(JSON.stringify(about.find((one) => one.type === type)?.fact)).toContain(userId);
  for (const word of [username, familyName]) expect(JSON.stringify(receiver.at("/behind"))).not.toContain(word);
  expect(new Set(receiver.at("/behind").flatMap((post) => signersOf(post, [secret])))).toEqual(new Set([secret]));
  done(await remove());
});

test("while a secret is rotated, both sign; at the end of the old one, the new one alone", async () => {
  const { subscribed, newProject } = await tenant();
  const { secret, call, read } = await subscribed("/rotated", { types: ["project.created"] });
  const { secret: next, previousSecretExpirationDate } = await call("/secret:rotate");
  expect((await read()).previousSecretExpirationDate).toBe(previousSecretExpirationDate);
  await newProject();
  await eventually(() => expect(receiver.at("/rotated").length).toBe(1));
  const { secret: last } = await call("/secret:rotate", { overlapSeconds: 0 });
  await newProject();
  await eventually(() => expect(receiver.at("/rotated").length).toBe(2));
  const signers = receiver.at("/rotated").map((post) => signersOf(post, [secret, next, last]));
  expect(signers).toEqual([[secret, next], [last]]);
  expect(await read()).not.toHaveProperty("previousSecretExpirationDate");
});

test("a receiver that is gone is dead at once, and goes on when somebody says so", async () => {
  const { subscribed, newProject } = await tenant();
  const { call, read } = await subscribed("/gone", { types: ["project.created"] });
  receiver.behave = (response, path) => {
    if (path !== "/gone") return true;
    response.writeHead(410).end();
    return false;
  };
  const projectId = await newProject();
  await eventually(async () => expect((await read()).state).toBe("SUBSCRIPTION_STATE_DEAD"));
  expect(await read()).toMatchObject({ failure: "it answered 410", failingSince: expect.any(String) });
  const metrics = async () => (await fetch(`${postern.url}/metrics`)).text();
  await expect.poll(metrics).toMatch(/^postern_subscription_dead 1$/m);
  receiver.behave = () => true;
  await newProject();
  await call(":pause");
  await call(":resume");
  await eventually(() => expect(receiver.at("/gone").length).toBe(2));
  expect(receiver.eventsAt("/gone")[0].objectId).toBe(projectId);
});

test("a read of the log that fails ends a turn, and what was accepted before is not posted again", async () => {
  const { subscribed, newProject } = await tenant();
  const first = await newProject();
  for (let n = 0; n < 70; n += 1) await newProject();
  await using client = oneConnection(postern.databaseUrl);
  const begun = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<boolean>();
  receiver.behave = (_response, path) => {
    if (path !== "/cut") return true;
    begun.resolve();
    return goesOn.promise;
  };
  await subscribed("/cut", { types: ["project.created"], after: "0" });
  await begun.promise;
  {
    await using _held = await holdTable(postern.databaseUrl, "event_batches");
    goesOn.resolve(true);
    // Either the second read of the turn waits, or a slow machine records what was accepted instead.
    await eventually(async () => {
      const ended = await client.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and (query like '%select least(last%' or query like '%is_position_held%') and pid <> pg_backend_pid()`;
      expect(ended.length).toBeGreaterThan(0);
    });
  }
  await eventually(() => expect(receiver.at("/cut").length).toBe(71));
  const ids = receiver.at("/cut").map(({ headers }) => headers["webhook-id"]);
  expect(new Set(ids).size).toBe(71);
  expect(receiver.eventsAt("/cut")[0].objectId).toBe(first);
  receiver.behave = () => true;
}, 120_000);

test("receivers that never answer hold up neither their neighbours nor another organization", async () => {
  const [slow, quick] = [await tenant(), await tenant()];
  const waiting: (() => void)[] = [];
  receiver.behave = (_response, path) =>
    path.startsWith("/never") ? new Promise((resolve) => waiting.push(() => resolve(true))) : true;
  for (let n = 0; n < 12; n += 1) await slow.subscribed(`/never/${n}`, { types: ["project.created"] });
  await slow.subscribed("/quick/neighbour", { types: ["project.created"] });
  await quick.subscribed("/quick/other", { types: ["project.created"] });
  await slow.newProject();
  await eventually(() => expect(waiting.length).toBe(12));
  await quick.newProject();
  await eventually(() => expect(receiver.at("/quick/other").length).toBe(1));
  await eventually(() => expect(receiver.at("/quick/neighbour").length).toBe(1));
  for (const answer of waiting) answer();
  receiver.behave = () => true;
});

test("an address that is not allowed, and a redirect, are failures, and what a subscription holds is bounded", async () => {
  const { subscribed, newProject, header } = await tenant();
  const redirected = await subscribed("/redirects", { types: ["project.created"] });
  receiver.behave = (response, path) => {
    if (path !== "/redirects") return true;
    response.writeHead(302, { location: "/elsewhere" }).end();
    return false;
  };
  const url = "https://192.168.7.7/";
  const { subscriptionId } = done(await postern.admin.post("/v1/subscriptions", { url }, header));
  await newProject();
  await eventually(async () => expect((await redirected.read()).failure).toBe("it answered 302"));
  const inside = async () => done(await postern.admin.get(`/v1/subscriptions/${subscriptionId}`, header)).subscription;
  await eventually(async () => expect((await inside()).failure).toBe("the address is not public"));
  expect(receiver.at("/elsewhere")).toEqual([]);
  receiver.behave = () => true;
});

test("the tables of subscriptions equal a replay of the log, also after their organization is gone", async () => {
  const { id, subscribed } = await tenant();
  await subscribed("/purged");
  const { jobId } = done(await postern.admin.delete(`/v1/organizations/${id}`));
  done(await postern.admin.get(`/v1/jobs/${jobId}:wait?timeoutSeconds=50&instance=true`));
  await using client = oneConnection(postern.databaseUrl);
  const left = await client.sql`
    select from subscriptions s full join subscription_deliveries d using (subscription_id)
    full join subscription_secrets c using (subscription_id) where s.owner = ${id} or d.owner = ${id} or s.owner is null`;
  expect(left.length).toBe(0);
  expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });
});
