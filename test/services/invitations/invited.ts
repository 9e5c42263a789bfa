import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import type { Deps } from "../../../src/deps.ts";
import { expiredInvitations } from "../../../src/services/invitations/invitation_chores.ts";
import { type Answer, type Client, machine, type Postern, signedUp } from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";

export const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
export const refused = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];

export const newAddress = () => `${randomBytes(6).toString("hex")}@example.com`;

/** Somebody to invite, and what they are offered. */
export type Invited = {
  readonly email: string;
  readonly memberships?: readonly object[];
  readonly grants?: readonly object[];
};

/** The id of an invitation that one item makes. */
export async function invite(client: Client, item: Invited, headers: Record<string, string> = {}): Promise<string> {
  const { email, ...offers } = item;
  const { outcomes } = done(await client.post("/v1/invitations", { items: [{ email }], ...offers }, headers));
  return outcomes[0].created?.invitationId ?? expect.unreachable(JSON.stringify(outcomes));
}

/** The code of an invitation, as a mail shows it. */
const code = /^(?:[2-9A-Z]{4}-){5}[2-9A-Z]{4}$/m;

/** The code in the newest of some mails to an address, by default of an invitation. */
export async function codeTo(postern: Postern, email: string, { count = 1, like = code } = {}): Promise<string> {
  const mail = (await mailsTo(postern, email, count, like)).at(-1);
  return like.exec(mail?.text ?? "")?.[0] ?? expect.unreachable(JSON.stringify(mail));
}

/** The link in the newest of some mails to an address. */
export async function linkTo(postern: Postern, email: string, count = 1): Promise<string> {
  const mail = (await mailsTo(postern, email, count, code)).at(-1);
  return /^http\S+$/m.exec(mail?.text ?? "")?.[0] ?? expect.unreachable(JSON.stringify(mail));
}

/** A machine with these roles in an organization. */
export async function administrator(postern: Postern, organizationId: string, roles: readonly string[]) {
  const made = await machine(postern, { organizationId });
  const header = { "x-service-orgid": organizationId };
  done(await postern.admin.post("/v1/members", { userId: made.userId, roles }, header));
  return made;
}

/** A project of an organization with two roles. */
export async function projectOf(client: Client, headers: Record<string, string>): Promise<string> {
  const { projectId } = done(
    await client.post("/v1/projects", { name: `P ${randomBytes(6).toString("hex")}` }, headers),
  );
  for (const key of ["viewer", "editor"]) done(await client.post(`/v1/projects/${projectId}/roles`, { key }, headers));
  return projectId;
}

/** Invitations that ended in each way, and one that was mailed again and stays. */
export async function invitationsComeAndGo(postern: Postern, deps: Deps): Promise<void> {
  const guest = await signedUp(postern);
  const invited = async (email = newAddress()) => {
    const id = await invite(postern.admin, { email, memberships: [{ roles: ["ORG_VIEWER"] }] });
    return { id, code: await codeTo(postern, email) };
  };
  const accepted = await invited(`${guest.username}@example.com`);
  done(await guest.client.post("/v1/invitations:accept", { code: accepted.code }));
  done(await guest.client.post("/v1/invitations:decline", { code: (await invited()).code }));
  done(await postern.admin.delete(`/v1/invitations/${(await invited()).id}`));
  const { id } = await invited();
  await deps.sql`update invitations set expiration_date = now() - interval '31 days' where invitation_id = ${id}`;
  await expiredInvitations(deps).batch(1000);
  done(await postern.admin.post(`/v1/invitations/${(await invited()).id}:resend`));
}
