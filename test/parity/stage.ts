import { randomBytes, randomInt } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Reason } from "../../src/reasons.ts";
import { type Fixture, fixtureOf } from "../fixture/organization.ts";
import { type Client, machine, organization, type Postern, signedUp } from "../harness.ts";
import type { Raw } from "./doors.ts";
import type { Packing } from "./packing.ts";

/** The stage of the scenes: one organization with its objects, and users to make the calls. */
export type Stage = {
  readonly postern: Postern;
  readonly admin: Client;
  readonly fixture: Fixture;
  /** A machine without any role. */
  readonly stranger: Client;
  /** An ORG_VIEWER of the organization. */
  readonly viewer: Client;
  /** A project of the administrator's organization, granted to this one with the role `viewer` only. */
  readonly granted: { readonly projectId: string; readonly projectGrantId: string };
  /** The organization where one wrong password locks. */
  readonly strict: string;
  /** The organization where recent passwords cannot be reused. */
  readonly historic: string;
};

/** A call that a scene makes, with what it needs already there. */
export type SceneCall = {
  readonly request: JsonObject;
  /** The administrator when left out. */
  readonly by?: Client;
  /** The organization worked in is the fixture's when left out. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly raw?: Raw;
  readonly packing?: Packing;
  /** The exact answer, if it is fixed. */
  readonly answer?: unknown;
  /** Reads the state afterwards, which must be the same for every door. */
  readonly see?: () => Promise<unknown>;
};

/** One call, and the answer that it must get at every door. */
export type Scene = {
  readonly rpc: string;
  readonly name: string;
  readonly says: "OK" | Reason;
  /** The fields that are wrong, in any order. */
  readonly fields?: readonly string[];
  /** The reason why a kind of door cannot express this call. */
  readonly not?: { readonly json?: string; readonly binary?: string; readonly rest?: string };
  /** The reason why the request is no well-formed message in a format, and so never reaches gate and interceptors. */
  readonly malformed?: { readonly json?: string; readonly binary?: string };
  /** The one kind of door for which this is so. */
  readonly only?: "rest";
  readonly given: (stage: Stage) => SceneCall | Promise<SceneCall>;
};

/** The reasons why requests are no well-formed messages: each decoder refuses them in its own words, before a call begins. */
export const malformed = {
  empty: { json: "an empty body is no JSON, which only the gateway takes for an empty message" },
  fields: { json: "a field is unknown, or its value has the wrong type, so that the JSON is none of this message" },
  bytes: { json: "the bytes are no JSON", binary: "the bytes are no protobuf" },
  size: { json: "the message is larger than the gateway lets one be", binary: "the same" },
} satisfies Readonly<Record<string, Scene["malformed"]>>;

/** Settings of the scenes: limits that they come up against, and the URL of the instance. */
export const limits = {
  messageMaxBytes: 50_000,
  phoneSendsPerUser: 2,
  phoneSendsPerNumber: 1000,
  mailSendsPerAddress: 1000,
  // Servers of one scene answer at ports of their own.
  publicUrl: "https://identity.example.com",
} as const;

/** A name that nothing else has. */
export const fresh = (what: string) => `${what} ${randomBytes(6).toString("hex")}`;

/** A Swiss mobile number that hardly anybody else has. */
export const newNumber = () => `+4179${randomInt(2_000_000, 9_999_999)}`;

/** The header that names an organization. */
export const within = (organizationId: string) => ({ "x-service-orgid": organizationId });

/** Sets the stage. */
export async function stageOf(postern: Postern): Promise<Stage> {
  const { admin } = postern;
  const fixture = await fixtureOf(postern, await organization(postern));
  const viewer = await machine(postern, fixture);
  const roles = { userId: viewer.userId, roles: ["ORG_VIEWER"] };
  await made(admin, "/v1/members", roles, within(fixture.organizationId));
  const strict = await organization(postern);
  await admin.put("/v1/policies/lockout", { policy: { maximumAttempts: 1 } }, within(strict));
  const historic = await organization(postern);
  const policy = { minimumLength: 8, historyDepth: 3 };
  await admin.put("/v1/policies/password", { policy }, within(historic));
  const stranger = (await machine(postern, fixture)).client;
  const granted = await grantedTo(admin, fixture.organizationId);
  return { postern, admin, fixture, stranger, viewer: viewer.client, granted, strict, historic };
}

async function grantedTo(admin: Client, grantedOrganizationId: string): Promise<Stage["granted"]> {
  const { projectId } = await made(admin, "/v1/projects", { name: fresh("project") });
  for (const key of ["viewer", "editor"]) await made(admin, `/v1/projects/${projectId}/roles`, { key });
  const wanted = { grantedOrganizationId, roleKeys: ["viewer"] };
  const { projectGrantId } = await made(admin, `/v1/projects/${projectId}/grants`, wanted);
  return { projectId, projectGrantId };
}

/** A human of the fixture's organization who is signed in. */
export const person = ({ postern, fixture }: Stage) => signedUp(postern, fixture);

/** Makes something over REST, which has to succeed. */
export async function made(client: Client, path: string, body: unknown, headers: Record<string, string> = {}) {
  const answer = await client.post(path, body, headers);
  if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}
