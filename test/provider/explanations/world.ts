import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { seeded } from "../../../packages/gateway/test/http/http2/seeded.ts";
import type { Authenticator } from "../../fixture/authenticator.ts";
import { enrolPasskey, enrolTotp, keyFor } from "../../fixture/factors.ts";
import { setMailCodes } from "../../fixture/sign_in_mail.ts";
import { organization, type Postern } from "../../harness.ts";
import type { Probe } from "../../probe.ts";
import { type Application, application } from "../application.ts";

/** A random source: whether something happens that does so in this share of the cases, and one of a list. */
export type Chance = {
  readonly in: (share: number) => boolean;
  readonly of: <T>(list: readonly T[]) => T;
  readonly some: <T>(list: readonly T[], share: number) => T[];
};

export function chanceOf(seed: number): Chance {
  const random = seeded(seed);
  const isIn = (share: number) => random(1_000_000) < share * 1_000_000;
  return {
    in: isIn,
    of: <T>(list: readonly T[]) => list[random(list.length)] as T,
    some: (list, share) => list.filter(() => isIn(share)),
  };
}

/** Somebody who may sign in, and what that person knows and has. */
export type Somebody = {
  readonly userId: string;
  readonly owner: string;
  readonly email: string;
  readonly loginName: string;
  password: string;
  /** The secret of an app for codes. */
  totp: string | undefined;
  /** Whether mailed codes reach this person, who has no password. */
  isMailed: boolean;
  /** How many codes were mailed. */
  mails: number;
  readonly passkey: Authenticator | undefined;
};

/** A random state: an application, somebody, and the organizations around them. */
export type World = {
  readonly app: Application;
  readonly responseType: string;
  readonly isJwt: boolean;
  readonly somebody: Somebody;
  /** The organizations: the application's own, one that may have its project, and another one. */
  readonly organizations: readonly string[];
  readonly roles: readonly string[];
};

export type Place = { readonly postern: Postern; readonly probe: Probe; readonly chance: Chance };

const roles = ["reader", "editor", "admin"];

const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });

async function done(answer: Promise<{ readonly status: number; readonly body: Record<string, never> }>) {
  const { status, body } = await answer;
  expect([status, body]).toEqual([200, expect.anything()]);
  return body as Record<string, string>;
}

/** Makes a random state. */
export async function newWorld(place: Place): Promise<World> {
  const { postern, chance } = place;
  const organizations = [await organization(postern), await organization(postern), await organization(postern)];
  const [home = "", tenant = ""] = organizations;
  const made = await newApplication(place, home);
  const { app } = made;
  const owner = chance.in(0.4) ? home : chance.of(organizations);
  const somebody = await newSomebody(place, owner);
  const projectGrantId = await lentProject(place, app, { home, tenant });
  await userGrants(place, { app, somebody, home, tenant, projectGrantId });
  await metadata(place, somebody, organizations);
  await policies(place, owner);
  await accidents(place, { app, somebody, organizations });
  return { ...made, somebody, organizations, roles };
}

const responseTypes = [
  ["id_token token", "OIDC_RESPONSE_TYPE_ID_TOKEN_TOKEN"],
  ["id_token", "OIDC_RESPONSE_TYPE_ID_TOKEN"],
] as const;

async function newApplication({ postern, chance }: Place, home: string) {
  const isImplicit = chance.in(0.12);
  const [responseType, responseName] = isImplicit ? chance.of(responseTypes) : ["code", "OIDC_RESPONSE_TYPE_CODE"];
  const isJwt = chance.in(0.5);
  const grantType = isImplicit ? "IMPLICIT" : "AUTHORIZATION_CODE";
  const app = await application(
    postern.admin,
    {
      redirectUris: chance.in(0.06) ? ["com.example.app:/cb"] : ["https://app.example/cb"],
      responseTypes: [responseName],
      grantTypes: [`OIDC_GRANT_TYPE_${grantType}`, ...chance.some(["OIDC_GRANT_TYPE_REFRESH_TOKEN"], 0.3)].slice(
        0,
        isImplicit ? 1 : 2,
      ),
      accessTokenType: `OIDC_TOKEN_TYPE_${isJwt ? "JWT" : "BEARER"}`,
      accessTokenRoleAssertion: chance.in(0.5),
      idTokenRoleAssertion: chance.in(0.5),
      idTokenUserinfoAssertion: chance.in(0.3),
      firstParty: chance.in(0.1),
      declaredClaims: declared(chance),
    },
    inside(home),
  );
  for (const key of roles) await done(postern.admin.post(`/v1/projects/${app.projectId}/roles`, { key }, inside(home)));
  if (chance.in(0.35))
    await done(postern.admin.call("PATCH", `/v1/projects/${app.projectId}`, { grantRequired: true }, inside(home)));
  return { app, responseType, isJwt };
}

function declared(chance: Chance) {
  const places = ["ID_TOKEN", "ACCESS_TOKEN", "USERINFO"].map((name) => `CLAIM_PLACE_${name}`);
  const sources = [
    { name: "team", userMetadata: "team" },
    { name: "desk", userMetadata: "desk" },
    { name: "tier", organizationMetadata: "tier" },
    { name: "groups", roles: {} },
    { name: "is_editor", role: "editor" },
  ];
  return chance.some(sources, 0.35).map((source) => {
    const some = chance.some(places, 0.6);
    return { ...source, places: some.length > 0 ? some : places };
  });
}

let count = 0;

async function newSomebody({ postern, chance }: Place, owner: string): Promise<Somebody> {
  const username = `somebody${++count}-${randomBytes(3).toString("hex")}`;
  const [password, email] = ["Blue-Kettle-42", `${username}@example.com`];
  const human = {
    ...{ username, givenName: "Ada", familyName: "Byron", email, password },
    ...(chance.in(0.5) ? { phone: "+41791234567" } : {}),
    ...(chance.in(0.3) ? { address: { locality: "Bern", country: "CH" } } : {}),
    ...(chance.in(0.3) ? { language: "de" } : {}),
  };
  const made = await postern.admin.post("/v1/users:batchCreate", { items: [{ human }] }, inside(owner));
  const userId: string = made.body.outcomes?.[0]?.created?.userId ?? expect.unreachable();
  const someone = {
    userId,
    owner,
    email,
    loginName: `${username}@${owner}`,
    password,
    totp: undefined,
    isMailed: false,
    mails: 0,
  };
  if (chance.in(0.6)) return { ...someone, passkey: undefined };
  const session = await done(postern.as().post("/v1/sessions", { loginName: someone.loginName, password }));
  const client = postern.as(session.token);
  if (chance.in(0.5)) return { ...someone, passkey: undefined, totp: (await enrolTotp(client)).secret };
  const passkey = keyFor(postern);
  await enrolPasskey(client, passkey);
  return { ...someone, passkey };
}

/** Grants the application's project to the tenant, in most cases. */
async function lentProject({ postern, chance }: Place, app: Application, { home, tenant }: Organizations) {
  if (!chance.in(0.6)) return undefined;
  const granted = { grantedOrganizationId: tenant, roleKeys: roles };
  const path = `/v1/projects/${app.projectId}/grants`;
  return (await done(postern.admin.post(path, granted, inside(home)))).projectGrantId;
}

type Organizations = Readonly<Record<"home" | "tenant", string>>;

type Granting = Organizations & Pick<World, "app" | "somebody"> & { readonly projectGrantId: string | undefined };

/** Grants of the application's organization and of the tenant, some of them deactivated or past their end. */
async function userGrants({ postern, probe, chance }: Place, world: Granting): Promise<void> {
  const { app, somebody, home, tenant, projectGrantId } = world;
  const path = `/v1/users/${somebody.userId}/grants`;
  const givers = [
    ...(chance.in(0.4) ? [{ giver: home, more: {} }] : []),
    ...(projectGrantId && chance.in(0.4) ? [{ giver: tenant, more: { projectGrantId } }] : []),
  ];
  for (const { giver, more } of givers) {
    const wanted = { projectId: app.projectId, roleKeys: chance.some(roles, 0.6), ...more };
    const { userGrantId = "" } = await done(postern.admin.post(path, wanted, inside(giver)));
    if (chance.in(0.15)) await done(postern.admin.post(`/v1/user-grants/${userGrantId}:deactivate`, {}, inside(giver)));
    const ends = chance.of(["-1 minute", "1 hour", undefined, undefined]);
    if (ends) {
      await probe.sql`
        update user_grants set expiration_date = now() + ${ends}::text::interval where user_grant_id = ${userGrantId}`;
    }
  }
}

async function metadata({ postern, chance }: Place, { userId }: Somebody, organizations: readonly string[]) {
  const entry = (key: string) => ({ key, value: `${key} of ${userId}`, shared: chance.in(0.5) });
  const put = (path: string, entries: object[]) => done(postern.admin.call("PATCH", path, { entries }));
  if (chance.in(0.6)) await put(`/v1/users/${userId}/metadata`, [entry("team"), ...chance.some([entry("desk")], 0.5)]);
  for (const id of chance.some(organizations, 0.4)) await put(`/v1/organizations/${id}/metadata`, [entry("tier")]);
}

const requirements = ["OFF", "OPTIONAL", "REQUIRED_FOR_ADMINISTRATORS", "REQUIRED"];

async function policies({ postern, chance }: Place, owner: string): Promise<void> {
  if (chance.in(0.35)) {
    const policy = { requirement: `FACTOR_REQUIREMENT_${chance.of(requirements)}` };
    await done(postern.admin.put("/v1/policies/factor", { policy }, inside(owner)));
  }
  if (!chance.in(0.25)) return;
  const policy = { minimumLength: 8, changeAtNextSignIn: chance.in(0.5), maximumAgeDays: chance.in(0.5) ? 30 : 0 };
  await done(postern.admin.put("/v1/policies/password", { policy }, inside(owner)));
}

/** What befalls the user and the objects around it, rarely all at once. */
async function accidents(
  place: Place,
  { app, somebody, organizations }: Pick<World, "app" | "somebody" | "organizations">,
) {
  const { postern, probe, chance } = place;
  const { sql } = probe;
  const { userId, owner } = somebody;
  const home = inside(organizations[0] ?? "");
  if (chance.in(0.1)) await sql`update passwords set must_change = true where user_id = ${userId}`;
  if (chance.in(0.1)) await sql`update passwords set changed = changed - interval '40 days' where user_id = ${userId}`;
  if (chance.in(0.08)) await sql`update users set requires_factor = true where user_id = ${userId}`;
  if (chance.in(0.1)) await done(postern.admin.post("/v1/members", { userId, roles: ["ORG_VIEWER"] }, inside(owner)));
  if (chance.in(0.08)) await locked(place, somebody);
  if (chance.in(0.08)) await mailedOnly(place, somebody);
  if (chance.in(0.07)) await done(postern.admin.post(`/v1/users/${userId}:deactivate`));
  const project = `/v1/projects/${app.projectId}`;
  if (chance.in(0.05)) await done(postern.admin.post(`${project}/applications/${app.appId}:deactivate`, {}, home));
  if (chance.in(0.05)) await done(postern.admin.post(`${project}:deactivate`, {}, home));
  for (const id of chance.some(organizations, 0.04))
    await done(postern.admin.post(`/v1/organizations/${id}:deactivate`));
}

/** Locks somebody, or lets unknown browsers wait. */
async function locked({ probe: { sql }, chance }: Place, { userId }: Somebody): Promise<void> {
  const until = chance.of(["-1 minute", "1 hour"]);
  if (chance.in(0.5))
    await sql`update users set locked = true, locked_until = now() + ${until}::text::interval where user_id = ${userId}`;
  else
    await sql`insert into sign_in_failures (subject, failures, waits, wait_until, expiration_date)
      values (${userId}, 0, 1, now() + ${until}::text::interval, now() + interval '1 day')`;
}

/** Takes the password of somebody, who may get mailed codes in its place. */
async function mailedOnly({ postern, probe: { sql }, chance }: Place, somebody: Somebody): Promise<void> {
  const { userId, owner } = somebody;
  await sql`delete from passwords where user_id = ${userId}`;
  if (!chance.in(0.5)) return;
  await setMailCodes(postern, owner);
  await sql`update users set email_verified = true, proven_email = lower(email) where user_id = ${userId}`;
  somebody.isMailed = true;
}

/** Lets the present code of a user's app be used again. */
export const unusedCode = ({ sql }: Probe, userId: string) => sql`
  update factor_secrets set last_step = 0 where factor_id in (select factor_id from factors where user_id = ${userId})`;
