import { randomBytes } from "node:crypto";
import type { Fixture } from "../fixture/organization.ts";
import type { Row } from "./matrix_rows.ts";

const own = async ({ newInvitation }: Fixture) => ({ invitationId: await newInvitation() });

const received = async ({ newReceivedInvitation }: Fixture) => ({ invitationId: await newReceivedInvitation() });

const decide = { needs: "org.write", decides: "organization" } as const;
const write = { needs: "user.write", decides: "organization" } as const;
// A role on a project or project grant reaches what was offered there: offers.test.ts.
const read = {
  needs: "user.read",
  decides: "organization",
  reaches: "own",
  instead: ["member.read", "user.grant.read", "project.read"],
} as const;
const change = {
  ...write,
  reaches: "own",
  instead: ["member.write", "user.grant.write", "project.grant.write"],
} as const;
const answer = { needs: "caller", decides: "nobody", request: () => ({ code: "not one" }) } as const;

/** The rows of rpcs about invitations. */
export const invitationRows: Readonly<Record<string, Row>> = {
  "InvitationService.CreateInvitations": {
    ...{ ...write, objectless: true },
    // What is offered needs more than that: invitation.test.ts.
    request: () => ({ items: [{ email: `${randomBytes(8).toString("hex")}@example.com` }] }),
  },
  "InvitationService.GetInvitation": { ...read, request: own },
  "InvitationService.ListInvitations": { ...read, objectless: true, request: () => ({}) },
  "InvitationService.ResendInvitation": { ...change, request: own },
  "InvitationService.WithdrawInvitation": { ...change, request: own },
  "InvitationService.ListReceivedInvitations": {
    ...{ needs: "org.read", decides: "organization", objectless: true },
    request: () => ({}),
  },
  "InvitationService.AcceptReceivedInvitation": { ...decide, request: received },
  "InvitationService.DeclineReceivedInvitation": { ...decide, request: received },
  // Whoever is signed in may try codes; these ones are nobody's.
  "InvitationService.AcceptInvitation": answer,
  "InvitationService.DeclineInvitation": answer,
};
