import { signedUp } from "../harness.ts";
import { codeTo, invite } from "../services/invitations/invited.ts";
import { type Scene, type Stage, within } from "./stage.ts";

/** A call of an invited person, with the code of the invitation. */
async function invited({ postern, fixture }: Stage) {
  const { username, client } = await signedUp(postern, fixture);
  const email = `${username}@example.com`;
  await invite(postern.admin, { email, memberships: [{ roles: ["ORG_VIEWER"] }] }, within(fixture.organizationId));
  return { request: { code: await codeTo(postern, email) }, by: client, headers: {} };
}

const answered = (name: string): Scene => ({
  ...{ rpc: `InvitationService.${name}`, name: "answers", says: "OK" },
  given: invited,
});

const refused = (name: string): Scene => ({
  ...{ rpc: `InvitationService.${name}`, name: "with a code of nobody", says: "CODE_INVALID" },
  given: async ({ postern, fixture }) => ({
    request: { code: "none" },
    by: (await signedUp(postern, fixture)).client,
    headers: {},
  }),
});

/** Answers to invitations, with the code that was mailed and with none. */
export const invitationScenes: readonly Scene[] = ["AcceptInvitation", "DeclineInvitation"].flatMap((name) => [
  answered(name),
  refused(name),
]);
