import { afterAll, beforeAll, expect, test } from "vitest";
import { expiredInvitations } from "../../../src/services/invitations/invitation_chores.ts";
import { nameInMail } from "../../../src/services/verification/joining_mail.ts";
import { openClient } from "../../fixture/database_client.ts";
import { machine, organization, type Postern, sharedPostern, signedUp } from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";
import { type Handlers, openHandlers } from "../../sent_statements.ts";
import { administrator, codeTo, done, invite, newAddress, projectOf, refused } from "./invited.ts";

let postern: Postern;
let handlers: Handlers;
beforeAll(async () => {
  postern = await sharedPostern();
  handlers = await openHandlers(postern);
});
afterAll(async () => {
  await handlers?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
});

/** A customer: an organization with an owner who invites, and a project with two roles. */
async function customer() {
  const organizationId = await organization(postern);
  const owner = await administrator(postern, organizationId, ["ORG_OWNER"]);
  const projectId = await projectOf(owner.client, {});
  const offers = {
    memberships: [{ roles: ["ORG_VIEWER"] }],
    grants: [{ projectId, roleKeys: ["viewer"] }],
  };
  return { organizationId, inside: { "x-service-orgid": organizationId }, owner, projectId, offers };
}

/** A person of another organization, with the address that they are invited at. */
async function personElsewhere() {
  const person = await signedUp(postern);
  return { ...person, email: `${person.username}@example.com` };
}

const rolesOf = async (userId: string) =>
  done(await postern.admin.get(`/v1/users/${userId}/roles`)).userRoles.map((one: { roles: string[] }) => one.roles);

const outcomesOf = (body: { outcomes: { created?: object; refused?: { details: { reason: string }[] } }[] }) =>
  body.outcomes.map(({ created, refused: no }) => (created ? "created" : no?.details[0]?.reason));

test("one call invites many, with an outcome for each, or all or nothing", async () => {
  const { owner, offers, organizationId } = await customer();
  const [email, other] = [newAddress(), newAddress()];
  const items = [{ email }, { email: "no\u0000@example.com" }, { email: email.toUpperCase() }, { email: other }];
  expect(refused(await owner.client.post("/v1/invitations", { items, ...offers, allOrNothing: true }))).toEqual([
    400,
    "VALIDATION_FAILED",
  ]);
  expect(done(await owner.client.get("/v1/invitations")).invitations ?? []).toEqual([]);
  const body = done(await owner.client.post("/v1/invitations", { items, ...offers }));
  expect(outcomesOf(body)).toEqual(["created", "VALIDATION_FAILED", "VALIDATION_FAILED", "created"]);
  const { invitations } = done(await owner.client.get("/v1/invitations"));
  // Those of one millisecond come in any order.
  const of = (address: string) => invitations.find((one: { email: string }) => one.email === address);
  expect(invitations).toHaveLength(2);
  expect([of(other), of(email)]).toMatchObject([
    { ...offers, state: "INVITATION_STATE_PENDING", inviterId: owner.userId },
    { ...offers, details: { resourceOwner: organizationId } },
  ]);
  const [mail] = await mailsTo(postern, email);
  expect(mail?.text).toMatch(/Organization: Organization \d+/);
  expect(mail?.text).toMatch(/\/invitation\/organization\?code=[2-9A-Z]{24}$/m);
});

test("what is offered has to exist, once, in its scope", async () => {
  const { owner, projectId } = await customer();
  const of = async (offers: object) =>
    refused(await owner.client.post("/v1/invitations", { items: [{ email: newAddress() }], ...offers }));
  expect(await of({ grants: [{ projectId: "none", roleKeys: [] }] })).toEqual([404, "PROJECT_NOT_FOUND"]);
  expect(await of({ grants: [{ projectId, roleKeys: ["viewer", "none"] }] })).toEqual([400, "ROLE_UNKNOWN"]);
  expect(await of({ grants: [{ projectId }, { projectId }] })).toEqual([400, "VALIDATION_FAILED"]);
  expect(await of({ memberships: [{ roles: ["PROJECT_OWNER"] }] })).toEqual([400, "MEMBER_ROLE_SCOPE"]);
  expect(await of({ memberships: [{ roles: ["INSTANCE_OWNER"] }] })).toEqual([400, "VALIDATION_FAILED"]);
  const [viewer, elsewhere] = [{ roles: ["ORG_VIEWER"] }, { roles: ["PROJECT_OWNER"], projectId: "none" }];
  expect(await of({ memberships: [viewer, viewer] })).toEqual([400, "VALIDATION_FAILED"]);
  expect(await of({ memberships: [elsewhere] })).toEqual([404, "PROJECT_NOT_FOUND"]);
  const body = { items: [{ email: "x" }], grants: [{ projectId, roleKeys: ["none"] }], allOrNothing: true };
  const both = JSON.stringify((await owner.client.post("/v1/invitations", body)).body);
  for (const field of ["items[0].email", "grants[0].roleKeys[0]"]) expect(both).toContain(field);
});

test("five hundred are invited by one call, and a thousand by an organization", async () => {
  const { owner } = await customer();
  const many = (count: number) => Array.from({ length: count }, () => ({ email: newAddress() }));
  expect(refused(await owner.client.post("/v1/invitations", { items: many(501) }))).toEqual([400, "VALIDATION_FAILED"]);
  for (let round = 0; round < 2; round++) {
    const body = done(await owner.client.post("/v1/invitations", { items: many(500) }));
    expect(new Set(outcomesOf(body))).toEqual(new Set(["created"]));
  }
  // Withdrawn ones make room for others, but their mails were sent.
  const [last] = done(await owner.client.get("/v1/invitations?pageSize=1")).invitations;
  done(await owner.client.delete(`/v1/invitations/${last.id}`));
  const body = done(await owner.client.post("/v1/invitations", { items: many(2) }));
  expect(outcomesOf(body)).toEqual(["SEND_LIMIT", "SEND_LIMIT"]);
}, 120_000);

test("requests at once give an organization no more invitations than one after the other", async () => {
  const { owner, organizationId } = await customer();
  await using database = openClient(postern.databaseUrl);
  await database.client`
    with ids as (select gen_random_uuid()::text as id from generate_series(1, 990)),
      addresses as (
        insert into invitation_addresses (invitation_id, owner, email)
        select id, ${organizationId}, id || '@example.com' from ids)
    insert into invitations (owner, invitation_id, inviter_id, memberships, grants, expiration_date, version, created, changed)
    select ${organizationId}, id, ${owner.userId}, '[]', '[]', now() + interval '1 day', 1, now(), now() from ids`;
  const items = () => Array.from({ length: 7 }, () => ({ email: newAddress() }));
  const asked = Array.from({ length: 5 }, () => owner.client.post("/v1/invitations", { items: items() }));
  const outcomes = (await Promise.all(asked)).flatMap((answer) => outcomesOf(done(answer)));
  expect(outcomes.filter((one) => one === "created")).toHaveLength(10);
  expect(new Set(outcomes)).toEqual(new Set(["created", "INVITATION_LIMIT"]));
});

test("an existing user accepts with the code, gets what is offered, and the invitation is over", async () => {
  const [{ owner, offers, organizationId }, person] = [await customer(), await personElsewhere()];
  const invitationId = await invite(owner.client, { email: person.email.toUpperCase(), ...offers });
  const code = await codeTo(postern, person.email.toUpperCase());
  expect(await rolesOf(person.userId)).toEqual([]);
  const accepted = done(await person.client.post("/v1/invitations:accept", { code: code.toLowerCase() }));
  expect([accepted.details.resourceOwner, accepted.notGiven ?? []]).toEqual([organizationId, []]);
  expect((await rolesOf(person.userId)).sort()).toEqual([["ORG_VIEWER"], ["viewer"]]);
  expect(refused(await person.client.post("/v1/invitations:accept", { code }))).toEqual([400, "CODE_INVALID"]);
  expect(refused(await owner.client.get(`/v1/invitations/${invitationId}`))).toEqual([404, "INVITATION_NOT_FOUND"]);
  const { events } = done(await owner.client.get(`/v1/events?aboutUserId=${person.userId}`));
  expect(events.map(({ type, fact }: { type: string; fact: object }) => [type, JSON.stringify(fact)])).toEqual(
    expect.arrayContaining([
      ["invitation.accepted", expect.stringContaining(person.userId)],
      ["member.added", expect.stringContaining(invitationId)],
      ["user_grant.added", expect.stringContaining(invitationId)],
    ]),
  );
  const all = JSON.stringify(done(await owner.client.get("/v1/events?pageSize=1000")));
  expect(all.toLowerCase()).not.toContain(person.email.toLowerCase());
});

test("nobody gives by an invitation more than they may give themselves", async () => {
  const { organizationId, projectId, offers } = await customer();
  const manager = await administrator(postern, organizationId, ["ORG_USER_MANAGER"]);
  const stranger = await customer();
  const of = async (given: object) => {
    const answer = await manager.client.post("/v1/invitations", { items: [{ email: newAddress() }], ...given });
    return answer.status === 200 ? outcomesOf(answer.body)[0] : refused(answer)[1];
  };
  expect(await of({ grants: offers.grants })).toBe("created");
  expect(await of({ memberships: [{ roles: ["ORG_OWNER"] }] })).toBe("PERMISSION_DENIED");
  expect(await of({ memberships: [{ roles: ["ORG_VIEWER"] }] })).toBe("PERMISSION_DENIED");
  expect(await of({ memberships: [{ roles: ["PROJECT_OWNER"], projectId }] })).toBe("PERMISSION_DENIED");
  expect(await of({ grants: stranger.offers.grants })).toBe("PROJECT_NOT_FOUND");
  const viewer = await administrator(postern, organizationId, ["ORG_VIEWER"]);
  expect(refused(await viewer.client.post("/v1/invitations", { items: [{ email: newAddress() }] }))).toEqual([
    403,
    "PERMISSION_DENIED",
  ]);
  const strange = await stranger.owner.client.get("/v1/invitations", { "x-service-orgid": organizationId });
  expect(refused(strange)).toEqual([403, "PERMISSION_DENIED"]);
});

test("what the inviter may no longer give is not given, and the answer says so", async () => {
  const [{ organizationId, inside, projectId, offers }, person] = [await customer(), await personElsewhere()];
  const inviter = await administrator(postern, organizationId, ["ORG_OWNER"]);
  const gone = await projectOf(postern.admin, inside);
  const over = await projectOf(inviter.client, {});
  const past = { projectId: over, roleKeys: ["viewer"], expirationDate: "2001-01-01T00:00:00Z" };
  const [asked, items] = [{ ...offers, grants: [past] }, [{ email: person.email }]];
  const answer = await inviter.client.post("/v1/invitations", { items, ...asked });
  expect(JSON.stringify(answer.body)).toContain('"field":"grants[0].expirationDate"');
  const [soon, late] = ["2099-01-01T00:00:00Z", "2100-01-01T00:00:00Z"];
  const grants = [
    { ...offers.grants[0], expirationDate: late },
    { projectId: gone, roleKeys: ["editor"] },
    { ...past, expirationDate: soon },
  ];
  const invitationId = await invite(inviter.client, { email: person.email, ...offers, grants });
  const { invitation } = done(await inviter.client.get(`/v1/invitations/${invitationId}`));
  expect(invitation.grants).toMatchObject(grants);
  await using database = openClient(postern.databaseUrl);
  await database.client`
    update invitations set grants = replace(grants::text, ${soon}, '2001-01-01T00:00:00Z')::jsonb
    where invitation_id = ${invitationId}`;
  const code = await codeTo(postern, person.email);
  const accept = (given = code) => person.client.post("/v1/invitations:accept", { code: given });
  done(await postern.admin.delete(`/v1/members/${inviter.userId}`, inside));
  expect(refused(await accept())).toEqual([400, "INVITER_NOT_ENTITLED"]);
  done(await postern.admin.post("/v1/members", { userId: inviter.userId, roles: ["ORG_USER_MANAGER"] }, inside));
  for (const path of [projectId, gone]) done(await postern.admin.post(`/v1/projects/${path}:deactivate`, {}, inside));
  // Nothing is left to give, so the invitation waits.
  expect(refused(await accept())).toEqual([403, "PERMISSION_DENIED"]);
  done(await postern.admin.post(`/v1/projects/${projectId}:reactivate`, {}, inside));
  type NotGiven = { reason: { details: { reason: string }[] } };
  const notGiven = done(await accept()).notGiven.map(({ reason, ...offer }: NotGiven) => ({
    ...offer,
    why: reason.details[0]?.reason,
  }));
  expect(notGiven).toMatchObject([
    { membership: { roles: ["ORG_VIEWER"] }, why: "PERMISSION_DENIED" },
    { grant: { projectId: gone }, why: "PROJECT_INACTIVE" },
    { grant: { projectId: over }, why: "OFFER_EXPIRED" },
  ]);
  expect(await rolesOf(person.userId)).toEqual([["viewer"]]);
  const { userRoles } = done(await person.client.get("/v1/users/me/roles"));
  expect(userRoles).toMatchObject([{ projectId, expirationDate: late, inEffect: true }]);
  expect(refused(await postern.admin.get(`/v1/invitations/${invitationId}`, inside))[0]).toBe(404);
});

test("whoever mails an invitation again vouches for it, and earlier codes are over", async () => {
  const [{ organizationId, inside, offers }, person] = [await customer(), await personElsewhere()];
  const [inviter, manager, owner] = [
    await administrator(postern, organizationId, ["ORG_OWNER"]),
    await administrator(postern, organizationId, ["ORG_USER_MANAGER"]),
    await administrator(postern, organizationId, ["ORG_OWNER"]),
  ];
  const invitationId = await invite(inviter.client, { email: person.email, ...offers });
  const first = await codeTo(postern, person.email);
  done(await postern.admin.delete(`/v1/users/${inviter.userId}`));
  const accept = (code: string) => person.client.post("/v1/invitations:accept", { code });
  expect(refused(await accept(first))).toEqual([400, "INVITER_NOT_ENTITLED"]);
  const path = `/v1/invitations/${invitationId}`;
  expect(refused(await manager.client.post(`${path}:resend`))).toEqual([403, "PERMISSION_DENIED"]);
  done(await owner.client.post(`${path}:resend`));
  const second = await codeTo(postern, person.email, { count: 2 });
  expect(refused(await accept(first))).toEqual([400, "CODE_INVALID"]);
  expect(done(await postern.admin.get(path, inside)).invitation.inviterId).toBe(owner.userId);
  done(await owner.client.post(`${path}:resend`));
  expect(refused(await owner.client.post(`${path}:resend`))).toEqual([429, "SEND_LIMIT"]);
  expect(refused(await accept(second))).toEqual([400, "CODE_INVALID"]);
  done(await accept(await codeTo(postern, person.email, { count: 3 })));
  expect(await rolesOf(person.userId)).toHaveLength(2);
});

test("an invitation binds roles to no other account than that of the invited address", async () => {
  const [{ owner, offers }, thief, robot] = [await customer(), await personElsewhere(), await machine(postern)];
  const email = newAddress();
  const invitationId = await invite(owner.client, { email, ...offers });
  const code = await codeTo(postern, email);
  for (const { client } of [thief, robot])
    expect(refused(await client.post("/v1/invitations:accept", { code }))).toEqual([
      400,
      "INVITATION_FOR_OTHER_ADDRESS",
    ]);
  // An administrator elsewhere can give an account any address, but has no code.
  done(await postern.admin.post(`/v1/users/${thief.userId}/email`, { email, isVerified: true }));
  for (const guess of [invitationId, "", "2".repeat(24), code.slice(1)]) {
    const [status] = refused(await thief.client.post("/v1/invitations:accept", { code: guess }));
    expect(status).toBe(400);
  }
  expect(await rolesOf(thief.userId)).toEqual([]);
  expect(refused(await postern.as().post("/v1/invitations:accept", { code }))).toEqual([401, "UNAUTHENTICATED"]);
});

test("an address that a user only says is theirs accepts nothing, until they have confirmed it", async () => {
  const [{ owner, offers }, thief] = [await customer(), await personElsewhere()];
  const email = newAddress();
  await invite(owner.client, { email, ...offers });
  const code = await codeTo(postern, email);
  const accept = () => thief.client.post("/v1/invitations:accept", { code });
  done(await thief.client.post(`/v1/users/${thief.userId}/email`, { email: email.toUpperCase() }));
  expect(refused(await accept())).toEqual([400, "INVITATION_ADDRESS_UNCONFIRMED"]);
  expect(await rolesOf(thief.userId)).toEqual([]);
  const verificationCode = await codeTo(postern, email.toUpperCase(), { like: /^[2-9B-Z]{6}$/m });
  done(await thief.client.post(`/v1/users/${thief.userId}/email:verify`, { verificationCode }));
  done(await accept());
  expect(await rolesOf(thief.userId)).toHaveLength(2);
});

test("the inviter learns nothing of whether an address is known", async () => {
  const [{ owner }, person] = [await customer(), await personElsewhere()];
  const items = [{ email: person.email }, { email: newAddress() }];
  const [known, unknown] = done(await owner.client.post("/v1/invitations", { items })).outcomes;
  const plain = (one: { created: { invitationId: string } }) =>
    JSON.stringify(one)
      .replaceAll(one.created.invitationId, "id")
      .replace(/\d{4}-[^"]*Z/g, "time");
  expect(plain(known)).toBe(plain(unknown));
});

test("of ten acceptances and a withdrawal at once, one counts", async () => {
  const { owner, offers } = await customer();
  for (let round = 0; round < 10; round++) {
    const person = await personElsewhere();
    const invitationId = await invite(owner.client, { email: person.email, ...offers });
    const code = await codeTo(postern, person.email);
    const withdrawn = owner.client.delete(`/v1/invitations/${invitationId}`);
    const tries = Array.from({ length: 10 }, () => person.client.post("/v1/invitations:accept", { code }));
    const statuses = (await Promise.all([withdrawn, ...tries])).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(await rolesOf(person.userId)).toHaveLength(statuses[0] === 200 ? 0 : 2);
    const { events } = done(await owner.client.get(`/v1/events?objectId=${invitationId}`));
    expect(events).toHaveLength(2);
  }
}, 120_000);

test("a deactivated organization takes nobody in, and a deleted one has no invitations", async () => {
  const [{ organizationId, owner, offers }, person] = [await customer(), await personElsewhere()];
  await invite(owner.client, { email: person.email, ...offers });
  const code = await codeTo(postern, person.email);
  const accept = () => person.client.post("/v1/invitations:accept", { code });
  done(await postern.admin.post(`/v1/organizations/${organizationId}:deactivate`));
  expect(refused(await accept())).toEqual([400, "ORGANIZATION_INACTIVE"]);
  done(await postern.admin.delete(`/v1/organizations/${organizationId}`));
  expect(refused(await accept())).toEqual([400, "CODE_INVALID"]);
  await using database = openClient(postern.databaseUrl);
  const rows = () => database.client`select from invitation_addresses where owner = ${organizationId}`;
  await expect.poll(async () => (await rows()).length, { timeout: 60_000 }).toBe(0);
});

test("an invitation expires after seven days, can be mailed again for 30, and is then deleted", async () => {
  const [{ owner, offers }, person] = [await customer(), await personElsewhere()];
  await using database = openClient(postern.databaseUrl);
  const invitationId = await invite(owner.client, { email: person.email, ...offers });
  const code = await codeTo(postern, person.email);
  const age = async (days: number) => {
    await database.client`
      update invitations set expiration_date = expiration_date - make_interval(days => ${days}) where invitation_id = ${invitationId}`;
    await database.client`
      update mail_codes set expiration_date = expiration_date - make_interval(days => ${days}) where user_id = ${invitationId}`;
  };
  const state = async () => done(await owner.client.get(`/v1/invitations/${invitationId}`)).invitation.state;
  await age(8);
  expect(await state()).toBe("INVITATION_STATE_EXPIRED");
  expect(refused(await person.client.post("/v1/invitations:accept", { code }))).toEqual([400, "CODE_INVALID"]);
  await expiredInvitations(handlers.deps).batch(1000);
  done(await owner.client.post(`/v1/invitations/${invitationId}:resend`));
  expect(await state()).toBe("INVITATION_STATE_PENDING");
  await age(38);
  await expiredInvitations(handlers.deps).batch(1000);
  expect(refused(await owner.client.get(`/v1/invitations/${invitationId}`))).toEqual([404, "INVITATION_NOT_FOUND"]);
  const left = await database.client`
    select from invitation_addresses where invitation_id = ${invitationId}
    union all select from mail_codes where user_id = ${invitationId}`;
  expect(left).toHaveLength(0);
});

test("a declined invitation is over, and the organization's events say so", async () => {
  const [{ owner, offers }, person] = [await customer(), await personElsewhere()];
  const invitationId = await invite(owner.client, { email: person.email, ...offers });
  const code = await codeTo(postern, person.email);
  done(await person.client.post("/v1/invitations:decline", { code }));
  expect(refused(await person.client.post("/v1/invitations:accept", { code }))).toEqual([400, "CODE_INVALID"]);
  const { events } = done(await owner.client.get(`/v1/events?objectId=${invitationId}`));
  expect(events.map(({ type }: { type: string }) => type)).toEqual(["invitation.declined", "invitation.created"]);
  // The address can be invited again.
  await invite(owner.client, { email: person.email });
});

test("a mail carries no link that the name of an organization would make", () => {
  const shown = ["Acme", "Müller & Söhne AG", "Acme Inc."];
  const hidden = ["evil.example", "See http://x", "a@b", "x".repeat(101), "Pay: now/here", "Line\nbreak"];
  expect([shown.map(nameInMail), hidden.map(nameInMail)]).toEqual([shown, hidden.map(() => "")]);
});
