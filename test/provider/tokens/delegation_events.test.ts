import { afterAll, beforeAll, expect, test } from "vitest";
import { refreshing } from "../../fixture/connection.ts";
import { openClient } from "../../fixture/database_client.ts";
import { everyRow } from "../../fixture/person.ts";
import { type Client, machine as newMachine, organization, signedUp } from "../../harness.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import { application } from "../application.ts";
import { type Api, type Delegated, delegated, delegation, exchanged, newApi, userTokens } from "../delegation.ts";
import { done } from "../holding.ts";
import { type GrantedMachine, grantedMachine } from "../machine.ts";

let nodes: TwoNodes;
let world: Delegated;
beforeAll(async () => {
  nodes = await startTwoNodes();
  world = await delegation(nodes.one);
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const url = (nth: number) => nodes.through(nth).url;
const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });

const events = async (query: string, headers = {}) =>
  done(await nodes.two.admin.get(`/v1/events?${query}`, headers)).events;
const begun = (query: string) => events(`types=delegation.begun&${query}`);

/** A machine that serves the target of another one, and the API that it may call. */
async function nextOf({
  target,
  machine,
}: Delegated): Promise<{ readonly machine: GrantedMachine; readonly api: Api }> {
  const texts = { en: "see your ledger" };
  const api = await newApi(nodes.one, machine.projectId, { scopes: [{ name: "ledger:read", texts }] });
  const next = await grantedMachine(nodes.one);
  done(await nodes.one.admin.post(`/v1/users/${next.userId}/grants`, { projectId: machine.projectId }));
  await delegated(nodes.one, next, { served: [target], targets: [api] });
  return { machine: next, api };
}

test("the first exchange is an event with who acts, for whom, where, and by which application; the next ones are none", async () => {
  const { person, machine, app, target } = world;
  const { access_token } = await userTokens(world);
  done(await exchanged(world, access_token));
  const found = await begun(`aboutUserId=${person.userId}`);
  const { organizationId } = nodes.one;
  expect(found).toEqual([
    {
      type: "delegation.begun",
      position: expect.any(String),
      objectId: expect.any(String),
      requestId: expect.any(String),
      time: expect.any(String),
      origin: expect.objectContaining({ address: expect.any(String) }),
      sequence: "1",
      resourceOwner: organizationId,
      actorId: machine.userId,
      aboutUserId: person.userId,
      onBehalfOfId: person.userId,
      projectId: target.projectId,
      fact: {
        delegation: {
          begun: {
            userId: person.userId,
            machineIds: [machine.userId],
            machineCredentialId: machine.secretId,
            appId: app.appId,
            apiId: target.appId,
            resourceUri: target.uri,
            projectId: target.projectId,
            scopes: ["ledger:read"],
          },
        },
      },
    },
  ]);
  for (const nth of [0, 1]) done(await exchanged(world, access_token, {}, { node: url(nth) }));
  done(await exchanged(world, (await userTokens(world)).access_token));
  expect(await begun(`aboutUserId=${person.userId}`)).toEqual(found);
});

test("whoever acts through a machine that acted before is named first, and filters by actor and by user find each", async () => {
  const mine = await delegation(nodes.one);
  const { machine, person } = mine;
  const next = await nextOf(mine);
  const one = done(await exchanged(mine, (await userTokens(mine)).access_token));
  const asked = { resource: next.api.uri };
  done(await exchanged(mine, one.access_token, asked, { by: next.machine, node: url(1) }));
  const chains = async (query: string) =>
    (await events(query)).map((event: { actorId: string; fact: Begun }) => [
      event.actorId,
      event.fact.delegation.begun.machineIds,
    ]);
  const [first, second] = [machine.userId, next.machine.userId];
  const all = [
    [second, [second, first]],
    [first, [first]],
  ];
  const ofUser = `onBehalfOfId=${person.userId}`;
  expect(await chains(ofUser)).toEqual(all);
  expect(await chains(`${ofUser}&actorId=${first}`)).toEqual(all.slice(1));
  expect(await chains(`${ofUser}&actorId=${second}&projectId=${next.api.projectId}`)).toEqual(all.slice(0, 1));
  expect(await chains(`${ofUser}&aboutUserId=${person.userId}&types=delegation.begun`)).toEqual(all);
  const instance = await chains(`${ofUser}&instance=true`);
  expect(instance).toEqual(all);
  const none = [`actorId=${world.machine.userId}`, `aboutUserId=${machine.userId}`, "types=user.human_created"];
  for (const more of none) expect(await events(`${ofUser}&${more}`)).toEqual([]);
  for (const id of [machine.userId, "nobody"]) expect(await events(`onBehalfOfId=${id}`)).toEqual([]);
  const others = (await events(`aboutUserId=${person.userId}`)).filter(
    ({ type }: { type: string }) => type !== "delegation.begun",
  );
  expect(others.length).toBeGreaterThan(0);
  for (const event of others) expect(event).not.toHaveProperty("onBehalfOfId");
});

type Begun = { readonly delegation: { readonly begun: { readonly machineIds: readonly string[] } } };

/** A world whose user is of another organization than its machine and application. */
async function across(organizationId: string): Promise<Delegated> {
  const person = await signedUp(nodes.one, { organizationId });
  const app = await application(nodes.one.admin, { ...refreshing, firstParty: true });
  const served = await newApi(nodes.one, app.projectId, { scopes: [] });
  const machine = await grantedMachine(nodes.one);
  for (const [userId, projectId] of [
    [person.userId, app.projectId],
    [person.userId, world.target.projectId],
    [machine.userId, world.target.projectId],
  ])
    done(await nodes.one.admin.post(`/v1/users/${userId}/grants`, { projectId }));
  await delegated(nodes.one, machine, { served: [served], targets: [world.target] });
  return { ...world, app, person, served, machine };
}

/** Watches at the second node what a client may see; answers what was heard. */
async function watch(client: Client, query: string, headers = {}) {
  const stop = new AbortController();
  const answer = await fetch(`${url(1)}/v1/events:watch?${query}`, {
    headers: { authorization: `Bearer ${client.token}`, accept: "application/x-ndjson", ...headers },
    signal: stop.signal,
  });
  expect(answer.status).toBe(200);
  let heard = "";
  const ended = (async () => {
    for await (const text of (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) heard += text;
  })().catch(() => {});
  const close = async () => {
    stop.abort();
    await ended;
  };
  const all = () => heard.split("\n").flatMap((line) => (line ? [JSON.parse(line).event ?? JSON.parse(line)] : []));
  return { events: all, [Symbol.asyncDispose]: close };
}

test("a watch of what is done on behalf of a user hears that alone, and what was before by its position", async () => {
  const [mine, other] = [await delegation(nodes.one), await delegation(nodes.one)];
  const query = `onBehalfOfId=${mine.person.userId}`;
  await using live = await watch(nodes.one.admin, query);
  await using ofActor = await watch(nodes.one.admin, `${query}&actorId=${other.machine.userId}`);
  for (const one of [other, mine]) done(await exchanged(one, (await userTokens(one)).access_token));
  const said = [{ type: "delegation.begun", actorId: mine.machine.userId, onBehalfOfId: mine.person.userId }];
  await expect.poll(live.events, { timeout: 30_000 }).toMatchObject(said);
  await using late = await watch(nodes.one.admin, `${query}&after=0`);
  await expect.poll(late.events, { timeout: 30_000 }).toMatchObject(said);
  expect(ofActor.events()).toEqual([]);
});

test("it is an event of the user's organization, whose owner reads it; the machine's organization does not", async () => {
  const organizationId = await organization(nodes.one);
  const { userId, client: owner } = await newMachine(nodes.one, { organizationId });
  const here = inside(organizationId);
  done(await nodes.one.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }, here));
  const mine = await across(organizationId);
  done(await exchanged(mine, (await userTokens(mine, { scope: "openid" })).access_token));
  const { person } = mine;
  const query = `/v1/events?onBehalfOfId=${person.userId}`;
  const [event, ...more] = done(await owner.get(query)).events;
  expect(more).toEqual([]);
  expect(event).toMatchObject({ resourceOwner: organizationId, actorId: mine.machine.userId });
  expect(event.fact.delegation.begun).toMatchObject({ scopes: [] });
  const elsewhere = ["onBehalfOfId", "aboutUserId"].map((name) => `${name}=${person.userId}`);
  for (const one of [...elsewhere, `actorId=${mine.machine.userId}`, ""]) {
    const found: readonly { actorId: string }[] = await begun(one);
    expect(found.filter(({ actorId }) => actorId === mine.machine.userId)).toEqual([]);
  }
  const { userId: viewerId, client: viewer } = await newMachine(nodes.one, { organizationId });
  done(await nodes.one.admin.post("/v1/members", { userId: viewerId, roles: ["ORG_USER_MANAGER"] }, here));
  expect((await viewer.get(query)).status).toBe(403);
  expect(done(await viewer.get(`${query}&aboutUserId=${person.userId}`)).events).toEqual([event]);
});

test("who acts again after ninety days begins again, and so does who acts after the user disconnected the application", async () => {
  const mine = await delegation(nodes.one);
  const { access_token } = await userTokens(mine);
  const act = async (token = access_token) => {
    done(await exchanged(mine, token));
    return (await begun(`onBehalfOfId=${mine.person.userId}`)).length;
  };
  expect([await act(), await act()]).toEqual([1, 1]);
  await using database = openClient(nodes.databaseUrl);
  await database.client`update acting_machines set expiration_date = now(), last_used = now() - interval '90 days'
    where user_id = ${mine.person.userId}`;
  expect([await act(), await act()]).toEqual([2, 2]);
  const connected = `/v1/users/${mine.person.userId}/connected-applications/${mine.app.appId}`;
  done(await nodes.one.admin.delete(connected));
  expect(await act((await userTokens(mine)).access_token)).toBe(3);
});

test("the event of a user who was erased stays, with nothing personal", async () => {
  const organizationId = await organization(nodes.one);
  const here = inside(organizationId);
  done(await nodes.one.admin.put("/v1/policies/privacy", { policy: { restoreDays: 0 } }, here));
  const owner = await signedUp(nodes.one, { organizationId });
  done(await nodes.one.admin.post("/v1/members", { userId: owner.userId, roles: ["ORG_OWNER"] }, here));
  const mine = await across(organizationId);
  const { person } = mine;
  done(await exchanged(mine, (await userTokens(mine, { scope: "openid" })).access_token));
  const before = await begun(`instance=true&onBehalfOfId=${person.userId}`);
  const { jobId } = done(await owner.client.post(`/v1/users/${person.userId}:erase`));
  done(await nodes.one.admin.get(`/v1/jobs/${jobId}:wait?instance=true&timeoutSeconds=50`));
  expect(before).toHaveLength(1);
  expect(await begun(`instance=true&onBehalfOfId=${person.userId}`)).toEqual(before);
  const left = (await everyRow(nodes.databaseUrl)).filter(({ row }) => row.includes(person.username));
  expect(left).toEqual([]);
});
