import { expect, test } from "vitest";
import type { Caller } from "../../src/deps.ts";
import { factOf, first } from "../../src/events/fact.ts";
import { type FactCachesOptions, factCaches, type Happened, happenedBy } from "../../src/events/fact_cache.ts";
import { type CallerCacheOptions, callerCache, type FoundCaller } from "../../src/guards/caller_cache.ts";

const ada: FoundCaller = {
  caller: { userId: "ada", organization: "acme", sessionId: "session", tokenId: "token", memberships: [] },
  expires: undefined,
};

type Given = Pick<CallerCacheOptions, "lookup" | "most"> & Partial<FactCachesOptions>;

/** A cache of callers, and how it hears of facts. */
function opened({ lookup, most, clock = () => new Date(0), seconds = 5, ...more }: Given) {
  const { open, ...caches } = factCaches({ clock, seconds, ...more });
  const cache = callerCache({ lookup, clock, factCache: open, ...(most ? { most } : {}) });
  return { ...cache, ...caches };
}

/** A cache whose lookups wait until they are let go, and how many there were. */
function waitingCache(more: Partial<Caller> = {}) {
  const found: FoundCaller = { ...ada, caller: { ...ada.caller, ...more } };
  const waiting: (() => void)[] = [];
  let lookups = 0;
  const lookup = async () => {
    lookups += 1;
    await new Promise<void>((resolve) => waiting.push(resolve));
    return found;
  };
  const cache = opened({ lookup });
  const letGo = () => waiting.splice(0).forEach((resolve) => void resolve());
  /** Looks the caller up, lets something happen meanwhile, and says whether the next one has to look again. */
  const isKeptAfter = async (meanwhile: Omit<Happened, "owner">) => {
    const first = cache.find("hash");
    cache.forget({ owner: "acme", ...meanwhile });
    letGo();
    expect(await first).toEqual(found.caller);
    const next = cache.find("hash");
    letGo();
    await next;
    return lookups === 1;
  };
  return { isKeptAfter };
}

for (const type of ["user.deactivated", "user.password_changed", "user.deleted"]) {
  test(`a caller who is looked up while ${type} happens to it is not kept`, async () => {
    expect(await waitingCache().isKeptAfter({ type, stream: "ada" })).toBe(false);
  });

  test(`a caller who is looked up while ${type} happens to somebody else is kept`, async () => {
    expect(await waitingCache().isKeptAfter({ type, stream: "grace" })).toBe(true);
  });
}

test("a caller who is looked up while a fact of a newer release is appended is not kept", async () => {
  expect(await waitingCache().isKeptAfter({ type: "user.merged", stream: "grace" })).toBe(false);
  expect(await waitingCache().isKeptAfter({ type: "toString", stream: "grace" })).toBe(false);
});

test("a caller whose token is revoked while it is looked up is not kept", async () => {
  expect(await waitingCache().isKeptAfter({ type: "access_token.revoked", stream: "token" })).toBe(false);
});

test.each(["member.added", "member.changed", "member.removed"])(
  "a caller who is looked up during %s is not kept if the membership is theirs, or could be",
  async (type) => {
    const isKeptAfter = (aboutUserId?: string | null) =>
      waitingCache().isKeptAfter({ type, stream: "some", ...(aboutUserId === undefined ? {} : { aboutUserId }) });
    expect([await isKeptAfter("ada"), await isKeptAfter(null), await isKeptAfter()]).toEqual([false, false, false]);
    expect(await isKeptAfter("grace")).toBe(true);
  },
);

test("a fact that was appended here says whom it concerns, in its payload or beside it", () => {
  const at = first("acme", "some", new Date(0));
  const added = factOf("member", at, { case: "added", value: { userId: "ada", roles: [] } });
  const changed = factOf("member", at, { case: "changed", value: { roles: [] } });
  const facts = [added, { ...changed, about: "ada" }, changed].map(happenedBy);
  expect(facts.map(({ aboutUserId }) => aboutUserId)).toEqual(["ada", "ada", null]);
});

const roles: Caller["memberships"] = [
  { scope: "project", id: "shop", organization: "acme", project: "shop", roles: [] },
  { scope: "project_grant", id: "grant", organization: "acme", project: "bank", roles: [] },
  { scope: "organization", id: "acme", organization: "acme", roles: [] },
];

test("a caller is evicted by the end of a project or project grant that they have a role on, and of no other", async () => {
  const isKeptAfter = (type: string, stream: string) =>
    waitingCache({ memberships: roles }).isKeptAfter({ type, stream });
  expect(await isKeptAfter("project.deleted", "shop")).toBe(false);
  expect(await isKeptAfter("project.deleted", "bank")).toBe(false);
  expect(await isKeptAfter("project.deleted", "other")).toBe(true);
  expect(await isKeptAfter("project_grant.revoked", "grant")).toBe(false);
  expect(await isKeptAfter("project_grant.revoked", "other")).toBe(true);
});

test("a caller who may use an application by a grant is evicted by the end of any, as the cache does not know which", async () => {
  const application = { signOnId: "sign-on", appId: "app", projectId: "shop", sessionId: "browser", origins: [] };
  for (const type of ["project_grant.revoked", "user_grant.expiration_changed"]) {
    expect(await waitingCache({ application }).isKeptAfter({ type, stream: "other" })).toBe(false);
    expect(await waitingCache().isKeptAfter({ type, stream: "other" })).toBe(true);
  }
  expect(await waitingCache({ application }).isKeptAfter({ type: "project.deleted", stream: "shop" })).toBe(false);
  expect(await waitingCache({ application }).isKeptAfter({ type: "project.deleted", stream: "other" })).toBe(true);
});

test("a caller whose session ends while it is looked up is not kept, one with another session is", async () => {
  expect(await waitingCache().isKeptAfter({ type: "session.ended", stream: "session" })).toBe(false);
  expect(await waitingCache().isKeptAfter({ type: "session.ended", stream: "other" })).toBe(true);
});

test("a caller whose phone changes is kept", async () => {
  expect(await waitingCache().isKeptAfter({ type: "user.phone_changed", stream: "ada" })).toBe(true);
});

test("a caller is kept no longer when the clock is set back", async () => {
  let [lookups, time, elapsed] = [0, 1_000_000, 0];
  const lookup = async () => {
    lookups += 1;
    return ada;
  };
  const cache = opened({ lookup, clock: () => new Date(time), elapsed: () => elapsed });
  await cache.find("hash");
  time -= 900_000;
  elapsed += 4_999;
  await cache.find("hash");
  expect(lookups).toBe(1);
  elapsed += 2;
  await cache.find("hash");
  expect(lookups).toBe(2);
});

test("a token that was found stays known when the cache is emptied, until nobody has it", async () => {
  let found: FoundCaller | undefined = ada;
  const cache = opened({ lookup: async () => found, most: 2 });
  expect(cache.wasFound("hash")).toBe(false);
  await cache.find("hash");
  cache.forgetAll();
  expect([cache.cached("hash"), cache.wasFound("hash")]).toEqual([undefined, true]);
  found = undefined;
  await cache.find("hash");
  expect(cache.wasFound("hash")).toBe(false);
  found = ada;
  for (const hash of ["one", "two", "three"]) await cache.find(hash);
  expect(["one", "two", "three"].map(cache.wasFound)).toEqual([false, true, true]);
});
