import { beforeAll, describe, expect, test } from "vitest";
import { type Client, machine, organization, type Postern, sharedPostern } from "../../harness.ts";
import { done, invite, newAddress, projectOf, refused } from "./invited.ts";
import { type Giver, giver, type Receiver, receiver } from "./received.ts";

let postern: Postern;

/** An organization that gives, with a project that it was granted besides its own. */
type Place = Giver & { readonly granted: { readonly projectId: string; readonly projectGrantId: string } };

/** What can be offered, by the path and the body of the call. */
const offers = {
  "a membership of the organization": (_: Place, { person: { userId } }: Receiver) =>
    ["/v1/members", { userId, roles: ["ORG_VIEWER"] }] as const,
  "a membership of a project": ({ projectId }: Place, { person: { userId } }: Receiver) =>
    [`/v1/projects/${projectId}/members`, { userId, roles: ["PROJECT_VIEWER"] }] as const,
  "roles in a project": ({ projectId }: Place, { person: { userId } }: Receiver) =>
    [`/v1/users/${userId}/grants`, { projectId, roleKeys: ["viewer"] }] as const,
  "the grant of a project": ({ projectId }: Place, { organizationId }: Receiver) =>
    [`/v1/projects/${projectId}/grants`, { grantedOrganizationId: organizationId, roleKeys: ["viewer"] }] as const,
  "a membership of a project grant": ({ granted }: Place, { person: { userId } }: Receiver) =>
    [
      `/v1/projects/${granted.projectId}/grants/${granted.projectGrantId}/members`,
      { userId, roles: ["PROJECT_GRANT_VIEWER"] },
    ] as const,
  "roles in a project grant": ({ granted }: Place, { person: { userId } }: Receiver) =>
    [`/v1/users/${userId}/grants`, { ...granted, roleKeys: ["viewer"] }] as const,
};

type Offered = keyof typeof offers | "an address";
const inProject = ["a membership of a project", "roles in a project", "the grant of a project"] as const;
const inGrant = ["a membership of a project grant", "roles in a project grant"] as const;
const everything = [...(Object.keys(offers) as Offered[]), "an address"] as const;

type Rights = {
  readonly reads: readonly Offered[];
  /** What they withdraw. */
  readonly changes: readonly Offered[];
  /** What they send again: by default, the same. Whoever does that vouches for it. */
  readonly resends?: readonly Offered[];
};
const nothing: Rights = { reads: [], changes: [] };
const all: Rights = { reads: everything, changes: everything };

/** What somebody with one role may do with invitations that the organization has sent. */
const rights: Readonly<Record<string, Rights & { readonly on?: "a project" | "another project" | "a project grant" }>> =
  {
    INSTANCE_OWNER: all,
    INSTANCE_VIEWER: { reads: everything, changes: [] },
    ORG_OWNER: all,
    ORG_USER_MANAGER: { ...all, resends: ["roles in a project", "roles in a project grant", "an address"] },
    ORG_VIEWER: { reads: everything, changes: [] },
    PROJECT_OWNER: { on: "a project", reads: inProject, changes: inProject },
    PROJECT_VIEWER: { on: "a project", reads: ["roles in a project", "the grant of a project"], changes: [] },
    PROJECT_EVALUATOR: { on: "a project", ...nothing },
    "PROJECT_OWNER elsewhere": { on: "another project", ...nothing },
    PROJECT_GRANT_OWNER: { on: "a project grant", reads: inGrant, changes: inGrant },
    PROJECT_GRANT_VIEWER: { on: "a project grant", reads: ["roles in a project grant"], changes: [] },
  };

let place: Place;
let to: Receiver;
let open: Map<Offered, string>;

beforeAll(async () => {
  postern = await sharedPostern();
  place = await newPlace();
  to = await receiver(postern);
  open = new Map(await Promise.all(everything.map(async (what) => [what, await offered(what)] as const)));
});

async function newPlace(): Promise<Place> {
  const from = await giver(postern);
  const lender = await giver(postern);
  const body = { grantedOrganizationId: from.organizationId, roleKeys: ["viewer"] };
  const { projectGrantId } = done(await lender.owner.client.post(`/v1/projects/${lender.projectId}/grants`, body));
  return { ...from, granted: { projectId: lender.projectId, projectGrantId } };
}

async function offered(what: Offered): Promise<string> {
  if (what === "an address") return invite(place.owner.client, { email: newAddress() });
  const [path, body] = offers[what](place, to);
  return done(await place.owner.client.post(path, body)).invitationId;
}

/** A machine of another organization with one role at the giver. */
async function holder(name: string): Promise<Client> {
  const [role = ""] = name.split(" ");
  const { client, userId } = await machine(postern, { organizationId: await organization(postern) });
  const scope = await scopeOf(rights[name]?.on);
  const instance = role.startsWith("INSTANCE_") ? { instance: true } : {};
  done(await postern.admin.post("/v1/members", { userId, roles: [role], ...scope, ...instance }, place.inside));
  return client;
}

async function scopeOf(on: "a project" | "another project" | "a project grant" | undefined) {
  if (on === "a project") return { projectId: place.projectId };
  if (on === "another project") return { projectId: await projectOf(place.owner.client, {}) };
  return on ? place.granted : {};
}

describe.each(Object.entries(rights))("%s", (name, { reads, changes, resends = changes }) => {
  let client: Client;
  beforeAll(async () => {
    client = await holder(name);
  });

  test("reads what the role lets read, and nothing else", async () => {
    const mayAnything = name !== "PROJECT_EVALUATOR";
    const { status, body } = await client.get("/v1/invitations?pageSize=1000", place.inside);
    const known = new Map([...open].map(([what, id]) => [id, what]));
    const listed = (body.invitations ?? []).map(({ id }: { id: string }) => known.get(id));
    expect([status, listed.sort()]).toEqual([mayAnything ? 200 : 403, [...reads].sort()]);
    for (const [what, id] of open) {
      const answer = await client.get(`/v1/invitations/${id}`, place.inside);
      expect([what, answer.status]).toEqual([what, reads.includes(what) ? 200 : mayAnything ? 404 : 403]);
    }
  });

  test("resends what the role lets give, withdraws that, and nothing else", async () => {
    const out = name.includes("OWNER") ? [404, "INVITATION_NOT_FOUND"] : [403, "PERMISSION_DENIED"];
    for (const what of everything) {
      const path = `/v1/invitations/${open.get(what)}`;
      const says = [
        refused(await client.post(`${path}:resend`, {}, place.inside)),
        refused(await client.delete(path, place.inside)),
      ];
      const mayWithdraw = changes.includes(what);
      const resent = resends.includes(what) ? [200, undefined] : mayWithdraw ? [403, "PERMISSION_DENIED"] : out;
      expect([what, ...says]).toEqual([what, resent, mayWithdraw ? [200, undefined] : out]);
      if (mayWithdraw) open.set(what, await offered(what));
    }
  });
});
