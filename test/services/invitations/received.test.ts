import { afterAll, beforeAll, expect, test } from "vitest";
import { openClient } from "../../fixture/database_client.ts";
import { type Answer, machine, type Postern, signedUp } from "../../harness.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import { administrator, codeTo, done, invite, refused } from "./invited.ts";
import { type Gift, type Giver, gifts, give, giver, offer, type Receiver, receiver } from "./received.ts";

let nodes: TwoNodes;
let postern: Postern;
beforeAll(async () => {
  nodes = await startTwoNodes();
  postern = nodes.one;
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const all = Object.keys(gifts) as Gift[];
const path = "/v1/received-invitations";

const both = async () => {
  const [from, to] = [await giver(postern), await receiver(postern)];
  return { from, to };
};

/** Everything that another organization has given an organization and its person. */
async function given({ from, to }: { from: Giver; to: Receiver }): Promise<number> {
  const { userRoles } = done(await to.owner.client.get(`/v1/users/${to.person.userId}/roles`));
  const { projectGrants } = done(await from.owner.client.get(`/v1/projects/${from.projectId}/grants`));
  return userRoles.length + projectGrants.length;
}

const idsIn = (body: { invitations?: { id: string }[] }) => (body.invitations ?? []).map(({ id }) => id);
const receivedBy = async ({ owner }: Receiver) => idsIn(done(await owner.client.get(path)));
const sentBy = async ({ owner }: Giver) => idsIn(done(await owner.client.get("/v1/invitations")));

const accept = ({ owner }: Receiver, id: string, node = postern) =>
  node.as(owner.client.token).post(`${path}/${id}:accept`);

test.each(all)(
  "%s takes effect at once, unless the organization requires acceptance: then, once an owner accepts",
  async (gift) => {
    const between = await both();
    const { from, to } = between;
    const body = await give(from.owner.client, gift, between);
    expect([await given(between), body.details.resourceOwner]).toEqual([0, from.organizationId]);
    expect(body.userGrantId || body.projectGrantId || "").toBe("");
    const id = body.invitationId;
    expect([await sentBy(from), await receivedBy(to)]).toEqual([[id], [id]]);
    const inside = await to.person.client.get(`/v1/projects/${from.projectId}`, from.inside);
    expect(inside.status).toBe(403);
    expect(refused(await from.owner.client.post(...gifts[gift](from, to)))).toEqual([409, "INVITATION_EXISTS"]);

    done(await accept(to, id));
    expect([await given(between), await sentBy(from), await receivedBy(to)]).toEqual([1, [], []]);
    const { events } = done(await from.owner.client.get(`/v1/events?objectId=${id}`));
    expect(events.map(({ type }: { type: string }) => type)).toEqual(["invitation.accepted", "invitation.created"]);
    expect(refused(await accept(to, id))).toEqual([404, "INVITATION_NOT_FOUND"]);

    const open = await both();
    done(
      await open.to.owner.client.call("PATCH", `/v1/organizations/${open.to.organizationId}`, {
        requiresAcceptance: false,
      }),
    );
    expect((await give(open.from.owner.client, gift, open)).invitationId).toBeUndefined();
    expect(await given(open)).toBe(1);
  },
);

test("an owner of the organization decides, users see and decline what is for themselves, and nobody else finds it", async () => {
  const between = await both();
  const { from, to } = between;
  const [stranger, manager] = [
    await receiver(postern),
    await administrator(postern, to.organizationId, ["ORG_USER_MANAGER"]),
  ];
  const [ofUser, ofOrganization] = [await offer("a user grant", between), await offer("a project grant", between)];
  const { client } = to.person;
  expect(idsIn(done(await client.get(`${path}?userId=me`)))).toEqual([ofUser]);
  const [shown] = done(await client.get(`${path}?userId=me`)).invitations;
  expect(shown).toMatchObject({
    ...{ userId: to.person.userId, grant: { projectId: from.projectId, roleKeys: ["viewer"] } },
    organizationName: expect.stringContaining("Organization"),
  });
  expect(shown.inviterId).toBeUndefined();

  const inTo = { "x-service-orgid": to.organizationId };
  const others = [client, manager.client, from.owner.client, stranger.owner.client];
  for (const id of [ofUser, ofOrganization])
    for (const one of others)
      for (const headers of [{}, inTo])
        for (const verb of ["accept", "decline"])
          expect([403, 404]).toContain((await one.post(`${path}/${id}:${verb}`, {}, headers)).status);
  expect(refused(await client.post(`${path}/${ofOrganization}:decline`, { userId: "me" }))[0]).toBe(404);
  expect(idsIn(done(await stranger.owner.client.get(`${path}?pageSize=1&userId=${to.person.userId}`)))).toEqual([]);
  expect(refused(await from.owner.client.get(path, inTo))).toEqual([403, "PERMISSION_DENIED"]);
  // Not even the number of pages.
  await offer("a membership of a project", between);
  const { nextPageToken = "" } = done(await stranger.owner.client.get(`${path}?pageSize=1&userId=${to.person.userId}`));
  expect(nextPageToken).toBe("");
  expect(await receivedBy(to)).toHaveLength(3);

  done(await client.post(`${path}/${ofUser}:decline`, { userId: "me" }));
  expect(await receivedBy(to)).toHaveLength(2);
  expect(await given(between)).toBe(0);
});

type Between = { readonly from: Giver; readonly to: Receiver };
type Attack = {
  readonly gift: Gift;
  readonly meanwhile: (between: Between) => Promise<Answer>;
  readonly says: readonly [number, string];
};

const gone = [404, "INVITATION_NOT_FOUND"] as const;
const unentitled = [400, "INVITER_NOT_ENTITLED"] as const;
/** Somebody else owns the organization, so that the giver can go. */
const followed = ({ from }: Between) => administrator(postern, from.organizationId, ["ORG_OWNER"]);
const leaves = async (between: Between) => {
  await followed(between);
  return postern.admin.delete(`/v1/members/${between.from.owner.userId}`, between.from.inside);
};

const attacks: Readonly<Record<string, Attack>> = {
  "the giver lost the right to make members": {
    gift: "a membership of the organization",
    meanwhile: leaves,
    says: unentitled,
  },
  "the giver lost the right to grant roles": { gift: "a user grant", meanwhile: leaves, says: unentitled },
  "the giver lost the right to grant projects": { gift: "a project grant", meanwhile: leaves, says: unentitled },
  "the giver holds less than the roles give": {
    gift: "a membership of the organization",
    async meanwhile(between) {
      const { from } = between;
      await followed(between);
      return postern.admin.put(`/v1/members/${from.owner.userId}`, { roles: ["ORG_USER_MANAGER"] }, from.inside);
    },
    says: unentitled,
  },
  "the giver was deactivated": {
    gift: "a user grant",
    async meanwhile(between) {
      await followed(between);
      return postern.admin.post(`/v1/users/${between.from.owner.userId}:deactivate`);
    },
    says: unentitled,
  },
  "the organization that gives was deactivated": {
    gift: "a project grant",
    meanwhile: ({ from }) => postern.admin.post(`/v1/organizations/${from.organizationId}:deactivate`),
    says: [400, "ORGANIZATION_INACTIVE"],
  },
  "the organization that gives was deleted": {
    gift: "a user grant",
    meanwhile: ({ from }) => postern.admin.delete(`/v1/organizations/${from.organizationId}`),
    says: gone,
  },
  "the role was removed": {
    gift: "a user grant",
    meanwhile: ({ from }) => from.owner.client.delete(`/v1/projects/${from.projectId}/roles/viewer`),
    says: gone,
  },
  "the role of a project grant was removed": {
    gift: "a project grant",
    meanwhile: ({ from }) => from.owner.client.delete(`/v1/projects/${from.projectId}/roles/viewer`),
    says: gone,
  },
  "the project was deleted": {
    gift: "a membership of a project",
    meanwhile: ({ from }) => from.owner.client.delete(`/v1/projects/${from.projectId}`),
    says: gone,
  },
  "the project was deactivated": {
    gift: "a user grant",
    meanwhile: ({ from }) => from.owner.client.post(`/v1/projects/${from.projectId}:deactivate`),
    says: [400, "PROJECT_INACTIVE"],
  },
  "the user was deleted": {
    gift: "a membership of the organization",
    meanwhile: ({ to }) => to.owner.client.delete(`/v1/users/${to.person.userId}`),
    says: gone,
  },
  "the user was erased": {
    gift: "a user grant",
    meanwhile: ({ to }) => to.owner.client.post(`/v1/users/${to.person.userId}:erase`),
    says: gone,
  },
  "the user who was to be a member was erased": {
    gift: "a membership of the organization",
    meanwhile: ({ to }) => to.owner.client.post(`/v1/users/${to.person.userId}:erase`),
    says: gone,
  },
  "the user has ended what the organization gives": {
    gift: "a user grant",
    async meanwhile(between) {
      const { from, to } = between;
      const other = done(await postern.admin.post("/v1/projects", { name: "Other" }, from.inside)).projectId;
      done(await from.owner.client.post(`/v1/projects/${other}/roles`, { key: "viewer" }));
      const of = { projectId: other, roleKeys: ["viewer"] };
      const { invitationId } = done(await from.owner.client.post(`/v1/users/${to.person.userId}/grants`, of));
      done(await accept(to, invitationId));
      return to.person.client.post("/v1/users/me/roles:end", { organizationId: from.organizationId });
    },
    says: [400, "ENDED_BY_RECEIVER"],
  },
  "the giver withdrew it": {
    gift: "a project grant",
    meanwhile: async (between) =>
      between.from.owner.client.delete(`/v1/invitations/${(await sentBy(between.from))[0]}`),
    says: gone,
  },
  "it has expired": {
    gift: "a project grant",
    async meanwhile({ from }) {
      await using database = openClient(postern.databaseUrl);
      await database.client`update invitations set expiration_date = now() where owner = ${from.organizationId}`;
      return from.owner.client.get("/v1/invitations");
    },
    says: gone,
  },
};

test.each(Object.entries(attacks))("nothing is given by accepting after %s", async (_, { gift, meanwhile, says }) => {
  const between = await both();
  const id = await offer(gift, between);
  done(await meanwhile(between));
  expect(refused(await accept(between.to, id))).toEqual(says);
  await using database = openClient(postern.databaseUrl);
  const rows = await database.client`
    select from members where owner = ${between.from.organizationId} and user_id = ${between.to.person.userId}
    union all select from user_grants where project_id = ${between.from.projectId}
    union all select from project_grants where project_id = ${between.from.projectId}`;
  expect(rows).toHaveLength(0);
});

test("of acceptances on two nodes, a refusal and a withdrawal at once, one counts", async () => {
  for (let round = 0; round < 8; round++) {
    const between = await both();
    const { from, to } = between;
    const id = await offer(all[round % all.length] as Gift, between);
    const client = to.owner.client;
    const statuses = (
      await Promise.all([
        from.owner.client.delete(`/v1/invitations/${id}`),
        client.post(`${path}/${id}:decline`),
        ...Array.from({ length: 6 }, (_, n) => accept(to, id, nodes.through(n))),
      ])
    ).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status >= 500)).toEqual([]);
    expect(await given(between)).toBe(statuses.slice(2).includes(200) ? 1 : 0);
    const { events } = done(await from.owner.client.get(`/v1/events?objectId=${id}`));
    expect(events).toHaveLength(2);
  }
}, 120_000);

test("another organization ends the tokens of a machine only once its own organization has accepted the role", async () => {
  const { from, to } = await both();
  const robot = await machine(postern, { organizationId: to.organizationId });
  // By an owner there, who holds nothing at the other organization.
  const { token } = done(await to.owner.client.post(`/v1/users/${robot.userId}/tokens`));
  const works = async () => (await postern.as(token).get("/v1/users/me")).status;
  const body = done(await from.owner.client.post("/v1/members", { userId: robot.userId, roles: ["ORG_OWNER"] }));
  expect([body.endedCredentials, await works()]).toEqual([0, 200]);
  expect((await postern.as(token).get("/v1/members", from.inside)).status).toBe(403);
  // Whoever accepts gains nothing by the tokens that they have made for the machine.
  expect(done(await accept(to, body.invitationId)).endedCredentials).toBe(1);
  expect(await works()).toBe(401);
});

test("the giver learns nothing of the organization that decides", async () => {
  const between = await both();
  const { from, to } = between;
  const answers = [];
  for (const gift of all.slice(0, 3)) answers.push(await give(from.owner.client, gift, between));
  for (const read of ["/v1/invitations", "/v1/events?pageSize=1000", `/v1/invitations/${answers[0].invitationId}`])
    answers.push(done(await from.owner.client.get(read)));
  expect(JSON.stringify(answers)).not.toContain(to.organizationId);
  const unknown = { userId: "nobody", roles: ["ORG_VIEWER"] };
  expect(refused(await from.owner.client.post("/v1/members", unknown))).toEqual([404, "USER_NOT_FOUND"]);
});

const end = (year: number) => `209${year}-01-01T00:00:00Z`;

test("what was accepted can be given back, but not extended", async () => {
  const between = await both();
  const { from, to } = between;
  const { client } = from.owner;
  const { userId } = to.person;
  const { projectId } = from;
  const offered = [
    await client.post("/v1/members", { userId, roles: ["ORG_USER_MANAGER"] }),
    await client.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: ["viewer"], expirationDate: end(2) }),
    await client.post(`/v1/projects/${projectId}/grants`, {
      ...{ grantedOrganizationId: to.organizationId, roleKeys: ["viewer"] },
    }),
  ];
  for (const answer of offered) done(await accept(to, done(answer).invitationId));
  const [userGrant] = done(await client.get(`/v1/user-grants?userId=${userId}`)).userGrants;
  const [projectGrant] = done(await client.get(`/v1/projects/${projectId}/grants`)).projectGrants;
  const required = [400, "ACCEPTANCE_REQUIRED"];
  expect(userGrant.expirationDate).toBe(end(2));
  const grant = `/v1/user-grants/${userGrant.id}`;
  const ends = async (expirationDate: string | undefined) => client.post(`${grant}:setExpiration`, { expirationDate });
  for (const later of [end(3), undefined]) expect(refused(await ends(later))).toEqual([400, "ACCEPTANCE_REQUIRED"]);
  done(await ends(end(1)));
  expect(refused(await ends(end(2)))).toEqual([400, "ACCEPTANCE_REQUIRED"]);
  const lent = `/v1/projects/${projectId}/grants/${projectGrant.id}`;
  expect(refused(await client.put(`/v1/members/${userId}`, { roles: ["ORG_OWNER"] }))).toEqual(required);
  expect(refused(await client.put(grant, { roleKeys: ["viewer", "editor"] }))).toEqual(required);
  expect(refused(await client.post(`${grant}:addRoles`, { roleKeys: ["editor"] }))).toEqual(required);
  expect(refused(await client.put(lent, { roleKeys: ["viewer", "editor"] }))).toEqual(required);
  // Nor while the user waits for erasure, and may come back.
  done(await to.owner.client.post(`/v1/users/${userId}:erase`));
  for (const answer of [
    await client.put(`/v1/members/${userId}`, { roles: ["ORG_OWNER"] }),
    await client.put(grant, { roleKeys: ["viewer", "editor"] }),
    await client.post(`${grant}:addRoles`, { roleKeys: ["editor"] }),
  ])
    expect(refused(answer)).toEqual(required);
  done(await to.owner.client.post(`/v1/users/${userId}:restore`));
  // Adding what is there changes nothing, so nobody has to accept it.
  done(await client.post(`${grant}:addRoles`, { roleKeys: ["viewer"] }));
  for (const verb of ["deactivate", "reactivate"]) done(await client.post(`${grant}:${verb}`));
  done(await client.put(grant, { roleKeys: [] }));
  done(await client.put(lent, { roleKeys: [] }));
  done(await client.delete(`/v1/members/${userId}`));
  // Whoever decides for both organizations needs nobody's acceptance.
  expect(done(await postern.admin.put(grant, { roleKeys: ["editor"] }, from.inside)).details.sequence).toBeDefined();
  const direct = await postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }, from.inside);
  expect(done(direct).invitationId).toBeUndefined();
  done(await client.put(`/v1/members/${userId}`, { roles: ["ORG_VIEWER"] }));
});

test("many grants at once are added or offered, as the organization of each user says", async () => {
  const { from, to } = await both();
  const own = await machine(postern, { organizationId: from.organizationId });
  const elsewhere = await signedUp(postern);
  const { projectId } = from;
  const items = [own, to.person, elsewhere, { userId: "nobody" }].map(({ userId }) => ({
    userId,
    projectId,
    roleKeys: ["viewer"],
  }));
  type Outcome = { added?: { userGrantId: string; invitationId?: string } };
  const outcomesOf = (body: { outcomes: Outcome[] }) =>
    body.outcomes.map(({ added }) => (!added ? "refused" : added.invitationId ? "offered" : "added"));
  const sent = await from.owner.client.post("/v1/user-grants:batchAdd", { items });
  expect(outcomesOf(done(sent))).toEqual(["added", "offered", "added", "refused"]);
  const again = [items[1], { ...items[1], projectId: "none" }];
  expect(outcomesOf(done(await from.owner.client.post("/v1/user-grants:batchAdd", { items: again })))).toEqual([
    "refused",
    "refused",
  ]);
  const [id = ""] = await receivedBy(to);
  const racing = Array.from({ length: 4 }, (_, n) =>
    nodes
      .through(n)
      .as(from.owner.client.token)
      .post("/v1/user-grants:batchAdd", { items: [{ ...items[1], roleKeys: [] }] }),
  );
  done(await from.owner.client.delete(`/v1/invitations/${id}`));
  await Promise.all(racing);
  await from.owner.client.post("/v1/user-grants:batchAdd", { items: [{ ...items[1], roleKeys: [] }] });
  expect(await receivedBy(to)).toHaveLength(1);
});

test("a user who accepts an invitation by mail gets what the own organization accepts, too", async () => {
  const between = await both();
  const { from, to } = between;
  const email = `${to.person.username}@example.com`;
  const { projectId } = from;
  const memberships = [{ roles: ["ORG_VIEWER"] }];
  await invite(from.owner.client, { email, memberships, grants: [{ projectId, roleKeys: ["viewer"] }] });
  const { notGiven } = done(
    await to.person.client.post("/v1/invitations:accept", { code: await codeTo(postern, email) }),
  );
  type NotGiven = { reason: { details: { reason: string }[] } };
  const reasons = notGiven.map(({ reason }: NotGiven) => reason.details[0]?.reason);
  expect([reasons, await given(between)]).toEqual([["ACCEPTANCE_REQUIRED", "ACCEPTANCE_REQUIRED"], 0]);
  const ids = await receivedBy(to);
  expect(ids).toHaveLength(2);
  const [one] = done(await from.owner.client.get("/v1/invitations")).invitations;
  // It is still the inviter who vouches for them.
  expect(one.inviterId).toBe(from.owner.userId);
  // Another invitation to the same gives nothing now, and stays.
  const [again] = done(await from.owner.client.post("/v1/invitations", { items: [{ email }], memberships })).outcomes;
  const mails = { count: 2 };
  const useless = await to.person.client.post("/v1/invitations:accept", { code: await codeTo(postern, email, mails) });
  expect(refused(useless)).toEqual([409, "INVITATION_EXISTS"]);
  expect(await sentBy(from)).toContain(again.created.invitationId);
  for (const id of ids) done(await accept(to, id));
  expect(await given(between)).toBe(2);
});

test("an organization has at most a thousand invitations, however many are made at once", async () => {
  const { from, to } = await both();
  await using database = openClient(postern.databaseUrl);
  await database.client`
    insert into invitations (owner, invitation_id, inviter_id, memberships, grants, expiration_date, version, created, changed)
    select ${from.organizationId}, gen_random_uuid()::text, '', '[]', '[]', now(), 1, now(), now() from generate_series(1, 998)`;
  const robots = await Promise.all(
    Array.from({ length: 5 }, () => machine(postern, { organizationId: to.organizationId })),
  );
  const answers = await Promise.all(
    robots.map(({ userId }, n) =>
      nodes
        .through(n)
        .as(from.owner.client.token)
        .post("/v1/members", { userId, roles: ["ORG_VIEWER"] }),
    ),
  );
  const said = answers.map((answer) => (answer.status === 200 ? "offered" : refused(answer)[1])).sort();
  expect(said).toEqual([...Array(3).fill("INVITATION_LIMIT"), "offered", "offered"]);
  expect(await receivedBy(to)).toHaveLength(2);
});

test("the export of a user has what is offered, and nothing of it is left with the user or the organization", async () => {
  const between = await both();
  const { from, to } = between;
  const id = await offer("a user grant", between);
  await offer("a membership of a project", between);
  await offer("a project grant", between);
  const { records } = done(await to.person.client.get("/v1/users/me:export?pageSize=1000"));
  type Exported = { receivedInvitation?: { id: string } };
  const exported = records.flatMap((one: Exported) => one.receivedInvitation?.id ?? []);
  expect(exported).toHaveLength(2);
  expect(exported).toContain(id);
  done(await to.owner.client.delete(`/v1/users/${to.person.userId}`));
  expect(await receivedBy(to)).toHaveLength(1);
  done(await postern.admin.delete(`/v1/organizations/${to.organizationId}`));
  await using database = openClient(postern.databaseUrl);
  const rows = () => database.client`
    select from invitations where owner = ${from.organizationId}
    union all select from invitation_receivers where owner = ${from.organizationId}`;
  await expect.poll(async () => (await rows()).length, { timeout: 60_000 }).toBe(0);
  const { events } = done(await from.owner.client.get("/v1/events?types=invitation.ended"));
  expect(events).toHaveLength(3);
});

test("an invitation that an organization receives is valid for longer when it is sent again, by whoever may give it", async () => {
  const between = await both();
  const { from, to } = between;
  const id = await offer("a membership of the organization", between);
  await using database = openClient(postern.databaseUrl);
  await database.client`update invitations set expiration_date = now() where invitation_id = ${id}`;
  expect(await receivedBy(to)).toEqual([]);
  const manager = await administrator(postern, from.organizationId, ["ORG_USER_MANAGER"]);
  expect(refused(await manager.client.post(`/v1/invitations/${id}:resend`))).toEqual([403, "PERMISSION_DENIED"]);
  done(await from.owner.client.post(`/v1/invitations/${id}:resend`));
  expect(await receivedBy(to)).toEqual([id]);
  done(await accept(to, id));
  expect(await given(between)).toBe(1);
});
