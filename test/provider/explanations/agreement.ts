import { expect } from "vitest";
import { type Asked, type Claims, type Outcome, signedIn } from "./reality.ts";
import { chanceOf, newWorld, type Place, type World } from "./world.ts";

type Step = { readonly check: string; readonly outcome: string; readonly reason: string };
type Claim = { readonly name: string; readonly value?: unknown };
type Explanation = {
  readonly maySignIn?: boolean;
  readonly steps: readonly Step[];
  readonly acr: string;
  readonly grants?: readonly Grant[];
  readonly idToken?: readonly Claim[];
  readonly accessToken?: readonly Claim[];
  readonly userinfo?: readonly Claim[];
};
type Grant = { readonly organizationId: string; readonly roleKeys?: readonly string[]; readonly problem?: string };

const scopes = [
  ...["profile", "email", "phone", "address", "roles", "urn:postern:project:roles", "offline_access", "unknown_word"],
];

/** How often each way and each end was seen, so that a test can tell that it tried what it says. */
export type Seen = Map<string, number>;

/** Makes the state of a seed, and compares what is explained with what happens: twice, since a first sign-in changes the state. */
export async function compare(place: Omit<Place, "chance">, seed: number, seen: Seen): Promise<void> {
  const chance = chanceOf(seed);
  const there = { ...place, chance };
  const world = await newWorld(there);
  await compareDecisions(there, world);
  const first = await compareSignIn(there, world, randomAsk(there, world));
  for (const what of [first.refusedAt ?? "ends well", `begins by ${first.began}`, ...first.asked])
    seen.set(what, (seen.get(what) ?? 0) + 1);
  if (first.refusedAt !== undefined) return;
  const second = await compareSignIn(there, world, randomAsk(there, world));
  if (!second.asked.includes("CONSENT")) seen.set("no further consent", (seen.get("no further consent") ?? 0) + 1);
}

const randomAsk = ({ chance }: Place, { organizations }: World): Asked => ({
  scopes: [...chance.some(["openid"], 0.9), ...chance.some(scopes, 0.4)],
  organizationId: chance.in(0.4) ? chance.of(organizations) : "",
});

async function compareSignIn(place: Place, world: World, asked: Asked): Promise<Outcome> {
  const explained = await explain(place, world, asked);
  const happened = await signedIn(place, world, asked);
  expect(summaryOf(explained)).toEqual({
    began: happened.began,
    asked: happened.asked,
    refusedAt: happened.refusedAt,
    maySignIn: happened.refusedAt === undefined,
  });
  const isChanged = happened.asked.some((what) => what === "PASSWORD_CHANGE" || what === "ENROLMENT");
  for (const place of ["idToken", "accessToken", "userinfo"] as const)
    compareClaims(explained[place] ?? [], happened[place] ?? {}, isChanged ? ["updated_at"] : []);
  if (happened.idToken) expect(explained.acr).toBe(happened.idToken.acr);
  return happened;
}

async function explain(
  { postern }: Place,
  { app, somebody, organizations }: World,
  asked: Asked,
): Promise<Explanation> {
  const query = new URLSearchParams({ user_id: somebody.userId, organization_id: asked.organizationId });
  for (const scope of asked.scopes) query.append("scopes", scope);
  const path = `/v1/projects/${app.projectId}/applications/${app.appId}:explainSignIn?${query}`;
  const { status, body } = await postern.admin.get(path, { "x-service-orgid": organizations[0] ?? "" });
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
}

const short = (name: string) => name.replace(/^SIGN_IN_(CHECK|OUTCOME|REASON)_/, "");

/** What an explanation says as far as a browser can see it. */
function summaryOf({ steps, maySignIn = false }: Explanation) {
  const all = steps.map(({ check, outcome, reason }) => ({
    check: short(check),
    outcome: short(outcome),
    reason: short(reason ?? ""),
  }));
  const end = all.findIndex(({ outcome }) => outcome === "REFUSED");
  const until = end === -1 ? all : all.slice(0, end);
  const first = until.find(({ check }) => check === "FIRST_STEP");
  const asked = until.filter(({ check, outcome }) => outcome === "ASKED" && check !== "FIRST_STEP");
  return {
    began: first?.reason,
    asked: asked.map(({ check, reason }) => (check === "SECOND_FACTOR" ? factorQuestion(reason) : check)),
    refusedAt: seenAt[all[end]?.check ?? ""] ?? all[end]?.check,
    maySignIn,
  };
}

const factorQuestion = (reason: string) => (reason === "FACTOR" ? "FACTOR" : "ENROLMENT");

// A browser is not told whether it is the user or the password.
const seenAt: Readonly<Record<string, string>> = { USER: "FIRST_STEP" };

function compareClaims(explained: readonly Claim[], received: Claims, without: readonly string[]): void {
  // The explanation has no request, and so no nonce.
  const names = Object.keys(received).filter((name) => name !== "nonce");
  expect(explained.map(({ name }) => name).sort()).toEqual(names.sort());
  const valued = explained.filter(({ name, value }) => value !== undefined && !without.includes(name));
  for (const { name, value } of valued) expect({ [name]: value }).toEqual({ [name]: received[name] });
  const unvalued = explained.filter(({ value }) => value === undefined).map(({ name }) => name);
  expect(unvalued.filter((name) => !decidedLater.includes(name))).toEqual([]);
}

const decidedLater = ["exp", "iat", "auth_time", "amr", "sid", "jti", "at_hash"];

/** Compares the explanation of decisions with Evaluate, for each role, of all organizations or of one. */
async function compareDecisions({ postern, chance }: Place, world: World): Promise<void> {
  const { app, somebody, organizations, roles } = world;
  const { grants = [] } = await explain({ postern } as Place, world, { scopes: ["openid"], organizationId: "" });
  for (const role of roles) {
    const organizationId = chance.in(0.4) ? chance.of(organizations) : "";
    const properties = organizationId ? { organizationId } : {};
    const { body: evaluated } = await postern.admin.post("/access/v1/evaluation", {
      subject: { type: "user", id: somebody.userId },
      action: { name: role },
      resource: { type: "project", id: app.projectId, properties },
    });
    const query = new URLSearchParams({ role_key: role, organization_id: organizationId });
    const path = `/v1/projects/${app.projectId}/users/${somebody.userId}:explainDecision?${query}`;
    const { body: explained } = await postern.admin.get(path);
    const { decision, reason } = explained;
    expect({ decision, reason }).toEqual({
      decision: evaluated.decision,
      reason: evaluated.context?.reason ?? "DENIAL_REASON_UNSPECIFIED",
    });
    const isHeld = grants.some(
      ({ problem, roleKeys, organizationId: giver }) =>
        problem === "GRANT_PROBLEM_UNSPECIFIED" &&
        roleKeys?.includes(role) &&
        (organizationId === "" || giver === organizationId),
    );
    const isUserShut = reason === "DENIAL_REASON_USER_INACTIVE";
    expect(isHeld).toBe(decision || isUserShut);
  }
}

const atOnce = 3;

/** Compares the states of many seeds; fails with all seeds whose states disagree. */
export async function compareAll(place: Omit<Place, "chance">, { first, count }: { first: number; count: number }) {
  const seen: Seen = new Map();
  const failures: unknown[] = [];
  const seeds = Array.from({ length: count }, (_, at) => first + at);
  const work = async () => {
    for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
      await compare(place, seed, seen).catch((cause: unknown) => failures.push(new Error(`seed ${seed}`, { cause })));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  if (failures.length > 0) {
    console.error(`${failures.length} states of ${count} disagree:`, failures.map(String).join(", "));
    throw new AggregateError(failures.slice(0, 5));
  }
  return seen;
}
