import type { Deps } from "../../deps.ts";
import { handlers } from "../module.ts";
import type { MailSettings } from "../verification/mail.ts";
import { invitationAnswerCalls, invitationAnswers } from "./answer_invitation.ts";
import { invitationBatch, invitationBatchLateRules, invitationBatchRules } from "./create_invitations.ts";
import { invitationCalls, invitationRules } from "./invitation.ts";
import { expiredInvitations } from "./invitation_chores.ts";
import { invitationFolds } from "./invitation_fold.ts";
import type { AnswerSettings } from "./open_invitation.ts";
import { receivedInvitationRules, receivedInvitations } from "./received_invitation.ts";

type Parts = { readonly deps: Deps };
type Settings = MailSettings & AnswerSettings;

/** Invitations into organizations. */
export const invitations = {
  serves: {
    InvitationService: ({ deps }: Parts, settings: Settings) =>
      handlers(
        invitationBatch(deps, settings),
        invitationCalls(deps, settings),
        invitationAnswerCalls(invitationAnswers(deps, settings)),
        receivedInvitations(deps),
      ),
  },
  folds: { invitation: invitationFolds },
  rules: (deps: Deps) => [...invitationRules, ...invitationBatchRules(deps), ...receivedInvitationRules],
  lateRules: (deps: Deps) => invitationBatchLateRules(deps),
  chores: ({ deps }: Parts) => [expiredInvitations(deps)],
};
