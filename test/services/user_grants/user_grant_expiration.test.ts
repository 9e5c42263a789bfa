import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openClient } from "../../fixture/database_client.ts";
import { type Answer, machine, type Postern, sharedPostern } from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const reasonsOf = ({ status, body }: Answer) => {
  const [info, bad] = ["ErrorInfo", "BadRequest"].map((name) =>
    (body.details ?? []).find((one: { "@type": string }) => one["@type"].endsWith(name)),
  );
  const fields = (bad?.fieldViolations ?? []).map((one: Record<string, string>) => [one.field, one.reason]);
  return [status, info?.reason, ...fields];
};

const [soon, late] = ["2099-01-01T00:00:00Z", "2100-06-30T22:00:00.250Z"];
const past = "2001-01-01T00:00:00Z";

async function newProject(): Promise<string> {
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: `Project ${randomUUID()}` }));
  for (const key of ["viewer", "editor"]) done(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key }));
  return projectId;
}

/** A user with a grant of a role in a project of its own. */
async function granted(body: object = {}) {
  const [projectId, { userId, client }] = [await newProject(), await machine(postern)];
  const wanted = { projectId, roleKeys: ["viewer"], ...body };
  const { userGrantId } = done(await postern.admin.post(`/v1/users/${userId}/grants`, wanted));
  const path = `/v1/user-grants/${userGrantId}`;
  return {
    ...{ projectId, userId, client, userGrantId },
    read: async () => done(await postern.admin.get(path)).userGrant,
    end: (end: object) => postern.admin.post(`${path}:setExpiration`, end),
    change: (roleKeys: readonly string[]) => postern.admin.put(path, { roleKeys }),
  };
}

type Granted = Awaited<ReturnType<typeof granted>>;

const evaluated = async ({ userId, projectId }: Granted) =>
  done(
    await postern.admin.post("/access/v1/evaluation", {
      subject: { type: "user", id: userId },
      action: { name: "viewer" },
      resource: { type: "project", id: projectId },
    }),
  );

const expired = { decision: false, context: { reason: "DENIAL_REASON_USER_GRANT_EXPIRED" } };

test("a grant has an end from the beginning, and only its own call changes that", async () => {
  const one = await granted({ expirationDate: late });
  expect(await one.read()).toMatchObject({ expirationDate: "2100-06-30T22:00:00.250Z", inEffect: true });
  done(await one.change(["viewer", "editor"]));
  expect(await one.read()).toMatchObject({
    expirationDate: "2100-06-30T22:00:00.250Z",
    roleKeys: ["editor", "viewer"],
  });
  const { details } = done(await one.end({ expirationDate: soon, expectedSequence: "2" }));
  expect(details.sequence).toBe("3");
  expect(await one.read()).toMatchObject({ expirationDate: soon });
  expect(done(await one.end({ expirationDate: soon })).details.sequence).toBe("3");
  expect(reasonsOf(await one.end({ expirationDate: late, expectedSequence: "2" }))).toEqual([409, "CONFLICT"]);
  expect(done(await one.end({})).details.sequence).toBe("4");
  expect(await one.read()).not.toHaveProperty("expirationDate");
  const { events } = done(await postern.admin.get(`/v1/events?objectId=${one.userGrantId}`));
  expect(events.map(({ fact }: { fact: { userGrant: object } }) => fact.userGrant)).toEqual([
    { expirationChanged: {} },
    { expirationChanged: { expirationDate: soon } },
    { changed: { roleKeys: ["viewer", "editor"] } },
    { added: expect.objectContaining({ expirationDate: "2100-06-30T22:00:00.250Z" }) },
  ]);
});

test("an end in the past is refused, in one grant, in a change and in an item of a batch", async () => {
  const one = await granted();
  const broken = [400, "VALIDATION_FAILED", ["expirationDate", "EXPIRATION_PAST"]];
  expect(reasonsOf(await one.end({ expirationDate: past }))).toEqual(broken);
  const [wanted, { userId }] = [{ projectId: one.projectId, roleKeys: ["viewer"] }, await machine(postern)];
  const add = (body: object) => postern.admin.post(`/v1/users/${userId}/grants`, { ...wanted, ...body });
  expect(reasonsOf(await add({ expirationDate: past }))).toEqual(broken);
  const items = [past, soon].map((expirationDate, n) => ({
    ...{ ...wanted, userId: n === 0 ? userId : "me", expirationDate },
  }));
  const whole = await postern.admin.post("/v1/user-grants:batchAdd", { items, allOrNothing: true });
  expect(reasonsOf(whole)).toEqual([400, "VALIDATION_FAILED", ["items[0].expirationDate", "EXPIRATION_PAST"]]);
  const { outcomes } = done(await postern.admin.post("/v1/user-grants:batchAdd", { items }));
  expect(JSON.stringify(outcomes[0].refused)).toContain("EXPIRATION_PAST");
  const { userGrant } = done(await postern.admin.get(`/v1/user-grants/${outcomes[1].added.userGrantId}`));
  expect(userGrant).toMatchObject({ expirationDate: soon });
});

test("a grant gives its roles until the moment that it ends, and from then on nothing", async () => {
  const one = await granted();
  expect(await evaluated(one)).toEqual({ decision: true });
  const end = Date.now() + 1500;
  done(await one.end({ expirationDate: new Date(end).toISOString() }));
  for (let isOver = false; !isOver; ) {
    const asked = Date.now();
    const answer = await evaluated(one);
    if (Date.now() < end) expect(answer).toEqual({ decision: true });
    isOver = asked >= end;
    if (isOver) expect(answer).toEqual(expired);
  }
  expect(await one.read()).toMatchObject({ state: "USER_GRANT_STATE_ACTIVE", roleKeys: ["viewer"] });
  expect((await one.read()).inEffect ?? false).toBe(false);
  const { userGrants } = done(await postern.admin.get(`/v1/users/${one.userId}/grants`));
  expect(userGrants).toMatchObject([{ id: one.userGrantId, expirationDate: new Date(end).toISOString() }]);
  expect(userGrants[0].inEffect ?? false).toBe(false);
  expect(done(await one.client.get("/v1/users/me")).projectRoles ?? []).toEqual([]);
  const again = { projectId: one.projectId, roleKeys: ["viewer"] };
  const answer = await postern.admin.post(`/v1/users/${one.userId}/grants`, again);
  expect(reasonsOf(answer)).toEqual([409, "USER_GRANT_EXISTS"]);
  done(await one.end({ expirationDate: soon }));
  expect(await evaluated(one)).toEqual({ decision: true });
  expect(done(await one.client.get("/v1/users/me")).projectRoles).toMatchObject([{ roleKey: "viewer" }]);
});

test("lists find grants by their end, in a project, of a user, with a role and in a state, page by page", async () => {
  const [one, { userId }] = [await granted({ expirationDate: soon }), await machine(postern)];
  const { projectId } = one;
  const of = (id: string, more: object) =>
    postern.admin.post(`/v1/users/${id}/grants`, { projectId, roleKeys: ["editor"], ...more });
  const { userGrantId: second } = done(await of(userId, { expirationDate: late }));
  const { userGrantId: lasting } = done(await of((await machine(postern)).userId, {}));
  const { userGrantId: over } = done(await of((await machine(postern)).userId, { expirationDate: late }));
  done(await postern.admin.post(`/v1/user-grants/${over}:deactivate`, {}));
  await using database = openClient(postern.databaseUrl);
  await database.client`update user_grants set expiration_date = ${past} where user_grant_id = ${over}`;
  const listed = async (query: string) => {
    const ids: string[] = [];
    for (let token = "", more = true; more; more = token !== "") {
      const page = done(await postern.admin.get(`/v1/user-grants?pageSize=1&pageToken=${token}&${query}`));
      ids.push(...(page.userGrants ?? []).map(({ id }: { id: string }) => id));
      token = page.nextPageToken ?? "";
    }
    return ids;
  };
  const in_ = `projectId=${projectId}`;
  const before = (time: string) => `expiresBefore=${time}`;
  expect(await listed(`${in_}&${before("2101-01-01T00:00:00Z")}`)).toEqual([over, second, one.userGrantId]);
  expect(await listed(`${in_}&order=AGE_ORDER_OLDEST&${before(late)}`)).toEqual([one.userGrantId, over]);
  expect(await listed(`${in_}&${before(soon)}`)).toEqual([over]);
  expect(await listed(`${in_}&${before(past)}`)).toEqual([]);
  expect(await listed(`${in_}&roleKey=editor&${before("2101-01-01T00:00:00Z")}`)).toEqual([over, second]);
  expect(await listed(`${in_}&state=USER_GRANT_STATE_ACTIVE&${before("2101-01-01T00:00:00Z")}`)).toEqual([
    second,
    one.userGrantId,
  ]);
  expect(await listed(`${in_}&state=USER_GRANT_STATE_INACTIVE&${before("2101-01-01T00:00:00Z")}`)).toEqual([over]);
  expect(await listed(`userId=${userId}&${before("2101-01-01T00:00:00Z")}`)).toEqual([second]);
  expect(await listed(`userId=${userId}&${in_}&${before(soon)}`)).toEqual([]);
  expect(await listed(`userId=${userId}&${in_}&${before("2101-01-01T00:00:00Z")}`)).toEqual([second]);
  const all = await listed(before("2101-01-01T00:00:00Z"));
  expect(all).toEqual(expect.arrayContaining([over, second, one.userGrantId]));
  expect(all).not.toContain(lasting);
});
