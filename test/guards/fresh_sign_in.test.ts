import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { permissions } from "../../src/guards/permissions.ts";
import { enrolTotp } from "../fixture/factors.ts";
import { type Answer, type Client, machine, organization, type Postern, sharedPostern, signedUp } from "../harness.ts";
import { openProbe } from "../probe.ts";
import {
  answerIn,
  application,
  authorizeUrl,
  exchange,
  issuerOf,
  type Person,
  signIn,
} from "../provider/application.ts";
import { openBrowser } from "../provider/browser.ts";
import { atConsole } from "../provider/console.ts";
import { done } from "../provider/holding.ts";

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const outcomeOf = ({ status, body }: Answer) => (status === 200 ? "OK" : body.details?.[0]?.reason);

/** What cannot be undone, or gives power over others; each makes what it needs. */
const acts: Readonly<Record<string, (client: Client) => Promise<Answer>>> = {
  "deleting an organization": async (client) => client.delete(`/v1/organizations/${await organization(postern)}`),
  "deleting a project": async (client) => {
    const { projectId } = done(await postern.admin.post("/v1/projects", { name: `Gone ${Math.random()}` }));
    return client.delete(`/v1/projects/${projectId}`);
  },
  "a new secret of an application that is there": async (client) => {
    const { projectId, appId } = await application(postern.admin);
    return client.post(`/v1/projects/${projectId}/applications/${appId}:rotateClientSecret`);
  },
  "removing another's factor": async (client) => {
    const other = await signedUp(postern);
    const { factorId } = await enrolTotp(other.client);
    return client.delete(`/v1/users/${other.userId}/factors/${factorId}`);
  },
  "a token for another, who may own the instance": async (client) =>
    client.post(`/v1/users/${(await machine(postern)).userId}/tokens`),
  "what a machine may do on behalf of users": async (client) =>
    client.put(`/v1/users/${(await machine(postern)).userId}/delegation`, {}),
  "another's password": async (client) =>
    client.put(`/v1/users/${(await signedUp(postern)).userId}/password`, { newPassword: "Green-Teapot-43" }),
  "another's email address": async (client) =>
    client.post(`/v1/users/${(await signedUp(postern)).userId}/email`, { email: "ada@example.org", isVerified: true }),
  "making an owner of the instance": async (client) =>
    client.post("/v1/members", { userId: (await signedUp(postern)).userId, roles: ["INSTANCE_OWNER"], instance: true }),
  "making a member of the instance an owner": async (client) => {
    const { userId } = await signedUp(postern);
    done(await postern.admin.post("/v1/members", { userId, roles: ["INSTANCE_VIEWER"], instance: true }));
    return client.put(`/v1/members/${userId}`, { roles: ["INSTANCE_OWNER"], instance: true });
  },
};

async function owner(): Promise<Person> {
  const person = await signedUp(postern);
  done(await postern.admin.post("/v1/members", { userId: person.userId, roles: ["INSTANCE_OWNER"], instance: true }));
  return person;
}

/** A client with the token that a first-party application has for our API. */
async function byApplication(person: Person): Promise<Client> {
  const app = await application(postern.admin, { firstParty: true });
  const url = authorizeUrl(issuer, app, { scope: `openid ${permissions.join(" ")}`, resource: issuer });
  const { code = "" } = answerIn(await signIn(openBrowser(issuer), url, person));
  return postern.as(done(await exchange(issuer, app, code)).access_token);
}

/** Makes all sign-ins of a person older than what counts as fresh. */
async function age({ userId }: Person) {
  await using probe = openProbe(postern.databaseUrl);
  await probe.sql`update sessions set created = created - interval '11 minutes' where user_id = ${userId}`;
}

describe.each(Object.entries(acts))("%s", (_, act) => {
  test("takes a recent sign-in, of a session, the console or an application", async () => {
    const person = await owner();
    const clients = {
      session: person.client,
      console: postern.as((await atConsole(issuer, issuer, person)).token),
      application: await byApplication(person),
    };
    for (const [name, client] of Object.entries(clients))
      expect([name, outcomeOf(await act(client))]).toEqual([name, "OK"]);
    await age(person);
    for (const [name, client] of Object.entries(clients))
      expect([name, outcomeOf(await act(client))]).toEqual([name, "SIGN_IN_NOT_FRESH"]);
  });

  test("can be done by personal access tokens and machines, which have no sign-in", async () => {
    const person = await owner();
    const pat = postern.as(done(await postern.admin.post(`/v1/users/${person.userId}/tokens`)).token);
    const robot = await machine(postern);
    done(await postern.admin.post("/v1/members", { userId: robot.userId, roles: ["INSTANCE_OWNER"], instance: true }));
    await age(person);
    for (const client of [pat, robot.client]) expect(outcomeOf(await act(client))).toBe("OK");
  });
});

test("other members are made at any time", async () => {
  const person = await owner();
  await age(person);
  const { userId } = await signedUp(postern);
  done(await person.client.post("/v1/members", { userId, roles: ["ORG_VIEWER"] }));
  done(await person.client.put(`/v1/members/${userId}`, { roles: ["ORG_OWNER"] }));
});
