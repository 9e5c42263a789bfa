import type { Deps } from "../../../src/deps.ts";
import { giverTo } from "../../fixture/organization.ts";
import { type Client, machine, organization, type Postern, signedUp } from "../../harness.ts";
import { administrator, done, invitationsComeAndGo, projectOf } from "./invited.ts";

/** An organization that accepts first, with an owner and a person. */
export async function receiver(postern: Postern) {
  const organizationId = await organization(postern);
  const owner = await administrator(postern, organizationId, ["ORG_OWNER"]);
  done(await owner.client.call("PATCH", `/v1/organizations/${organizationId}`, { requiresAcceptance: true }));
  return { organizationId, owner, person: await signedUp(postern, { organizationId }) };
}

/** An organization that gives, with an owner and a project. */
export async function giver(postern: Postern) {
  const organizationId = await organization(postern);
  const owner = await administrator(postern, organizationId, ["ORG_OWNER"]);
  const projectId = await projectOf(owner.client, {});
  return { organizationId, inside: { "x-service-orgid": organizationId }, owner, projectId };
}

export type Giver = Awaited<ReturnType<typeof giver>>;
export type Receiver = Awaited<ReturnType<typeof receiver>>;

/** What an organization can give another one or its users, by the path and the body of the call. */
type Call = readonly [path: string, body: object];
export const gifts = {
  "a membership of the organization": (_: Giver, { person: { userId } }: Receiver): Call => [
    "/v1/members",
    { userId, roles: ["ORG_VIEWER"] },
  ],
  "a membership of a project": ({ projectId }: Giver, { person: { userId } }: Receiver): Call => [
    `/v1/projects/${projectId}/members`,
    { userId, roles: ["PROJECT_VIEWER"] },
  ],
  "a user grant": ({ projectId }: Giver, { person: { userId } }: Receiver): Call => [
    `/v1/users/${userId}/grants`,
    { projectId, roleKeys: ["viewer"] },
  ],
  "a project grant": ({ projectId }: Giver, { organizationId }: Receiver): Call => [
    `/v1/projects/${projectId}/grants`,
    { grantedOrganizationId: organizationId, roleKeys: ["viewer"] },
  ],
};

export type Gift = keyof typeof gifts;

/** Gives something; returns the response, and the id of the invitation if there is one. */
export async function give(client: Client, gift: Gift, between: { from: Giver; to: Receiver }) {
  const [path, body] = gifts[gift](between.from, between.to);
  return done(await client.post(path, body));
}

/** The id of the invitation that giving something makes. */
export async function offer(gift: Gift, between: { from: Giver; to: Receiver }): Promise<string> {
  return (await give(between.from.owner.client, gift, between)).invitationId;
}

/** Invitations by address and received ones that end in each way, and some that stay. */
export async function allInvitationsComeAndGo(postern: Postern, deps: Deps): Promise<void> {
  await invitationsComeAndGo(postern, deps);
  await receivedComeAndGo(postern);
}

/** Received invitations that are accepted, declined, and end with their user. */
async function receivedComeAndGo(postern: Postern): Promise<void> {
  const organizationId = await organization(postern);
  const there = { "x-service-orgid": organizationId };
  const from = await giverTo(postern, organizationId);
  const offered = async () => {
    const { userId } = await machine(postern, { organizationId });
    return { userId, ...done(await from.post("/v1/members", { userId, roles: ["ORG_VIEWER"] })) };
  };
  const [accepted, declined, gone, waiting] = [await offered(), await offered(), await offered(), await offered()];
  const path = "/v1/received-invitations";
  done(await postern.admin.post(`${path}/${accepted.invitationId}:accept`, {}, there));
  done(await postern.admin.post(`${path}/${declined.invitationId}:decline`, {}, there));
  done(await postern.admin.delete(`/v1/users/${gone.userId}`));
  done(await from.post(`/v1/invitations/${waiting.invitationId}:resend`));
}
