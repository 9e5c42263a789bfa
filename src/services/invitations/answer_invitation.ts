import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { InvitationService, NotGivenSchema } from "../../../gen/postern/v1/invitation_pb.ts";
import { type Call, callerOf, type Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { type At, detailsAfter, factOf, type NewFact, next } from "../../events/fact.ts";
import { holdsThere } from "../../guards/missing_permission.ts";
import { membershipsRead } from "../callers/caller_lookups.ts";
import { countNetwork } from "../callers/network_rate.ts";
import { joiningUsers, type NewPerson } from "../users/joining_user.ts";
import { type No, refusedOutcome } from "../writing/batch_refusal.ts";
import { offersShown } from "./invitation_row.ts";
import { givingFacts, type Judged, judge, type NotGiven, refusalsOf } from "./offers.ts";
import { type AnswerSettings, accountsFor, guessesAt, type OpenInvitation, opening } from "./open_invitation.ts";

/** The result of an accepted invitation: the position of its last fact, and the offers that were not given. */
export type Accepted = { readonly at: At; readonly notGiven: readonly NotGiven[] };

/** The same for a new user, with the time that distinguishes their password from a later one. */
export type Joined = Accepted & { readonly userId: string; readonly passwordSet: Date };

/** The answers to an invitation, shared by calls and pages. */
export type InvitationAnswers = ReturnType<typeof invitationAnswers>;

/** Makes the answers to an invitation. All of them need the code in its mail. */
export function invitationAnswers(deps: Deps, settings: AnswerSettings) {
  const { log, sql, clock } = deps;
  const guesses = guessesAt(deps, settings);
  const [open, accountOf] = [opening(deps, settings), accountsFor(sql)];
  const judgedNow = judging(deps);
  const [newUser, accepted] = [joiningUsers(deps), accepting(deps)];

  return { open, accountOf, accept, join, decline };

  /** Accepts for the caller. The code proves access to the mailbox; the address of the account, that it belongs to the same person. */
  async function accept(invitation: OpenInvitation, call: Call): Promise<Accepted> {
    const { userId } = callerOf(call);
    const { match } = await accountOf(invitation, userId, call);
    if (match !== "same") throw refuse.because(mismatches[match]);
    const judged = await judgedNow(invitation, userId);
    refuseVoid(judged);
    return accepted(invitation, { userId, judged }, call);
  }

  /** Creates a user who accepts an invitation, with its address, which the code has proven. */
  async function join(invitation: OpenInvitation, person: NewPerson, call: Call): Promise<Joined> {
    // Otherwise anybody with a link could ask for any name whether it is taken.
    const uncount = countNetwork(guesses, call);
    const judged = await judgedNow(invitation, undefined);
    const created = await newUser(invitation, person, call);
    const { stream: userId, time: passwordSet } = created.at;
    const joined = await accepted(invitation, { userId, judged, created }, call);
    uncount();
    return { ...joined, userId, passwordSet };
  }

  async function decline(invitation: OpenInvitation, call: Call): Promise<void> {
    const declined = factOf("invitation", next(invitation, clock()), { case: "declined", value: {} });
    await log.append(call, [declined], undefined);
  }
}

const mismatches = {
  other: "INVITATION_FOR_OTHER_ADDRESS",
  unconfirmed: "INVITATION_ADDRESS_UNCONFIRMED",
} as const;

/** Makes the decision which offers can be given, by what the inviter may give now. */
function judging({ sql, clock }: Deps) {
  const membershipsOf = membershipsRead(sql);
  return async (invitation: OpenInvitation, userId: string | undefined): Promise<Judged> => {
    const { owner, inviterId } = invitation;
    if (!invitation.organizationActive) throw refuse.because("ORGANIZATION_INACTIVE", { params: { id: owner } });
    const by = { memberships: invitation.inviterActive ? await membershipsOf(inviterId) : [] };
    const here = { scope: "organization", id: owner, organization: owner, roles: [] } as const;
    if (!holdsThere(by, "user.write", here)) throw refuse.because("INVITER_NOT_ENTITLED");
    const [judged] = await judge(sql, [{ owner, by, userId, offers: invitation, now: clock(), path: "" }]);
    if (!judged) throw new Error("an invitation was not judged");
    return judged;
  };
}

type Accepting = {
  readonly userId: string;
  readonly judged: Judged;
  /** The fact that creates the user, if the user is new. */
  readonly created?: NewFact;
};

/** Makes the last step: one statement gives what can be given and ends the invitation, so that it is accepted once. */
function accepting(deps: Deps) {
  const factsFor = givingFacts(deps);
  return async (invitation: OpenInvitation, { userId, judged, created }: Accepting, call: Call): Promise<Accepted> => {
    const { owner, id: invitationId, inviterId } = invitation;
    const at = next(invitation, deps.clock());
    const { facts, notGiven } = await factsFor({ owner, userId, invitationId, inviterId }, judged, call);
    const value = { userId, newUser: created !== undefined };
    const end = factOf("invitation", at, { case: "accepted", value });
    const [no] = notGiven.map((one) => one.no);
    if (no && !created && facts.length === 0) throw refuse.because(no.reason, withoutFields(no));
    const all = [...(created ? [created] : []), ...facts, end];
    return deps.log.append(call, all, { at, notGiven: [...notGivenIn(judged), ...notGiven] });
  };
}

/** Fails if an existing user would get nothing, with the reason. */
function refuseVoid(judged: Judged): void {
  const all = [...judged.memberships, ...judged.grants];
  if (all.length === 0) throw refuse.because("INVITATION_OFFERS_NOTHING");
  const [no] = refusalsOf(judged);
  if (no && all.every((one) => one.no)) throw refuse.because(no.reason, withoutFields(no));
}

/** A refusal without its fields: the caller who accepts did not send any of them. */
export const withoutFields = ({ violations: _, ...no }: No): No => no;

const notGivenIn = ({ memberships, grants }: Judged): readonly NotGiven[] => [
  ...memberships.flatMap(({ membership, no }) => (no ? { membership, no } : [])),
  ...grants.flatMap(({ grant, no }) => (no ? { grant, no } : [])),
];

/** The calls by which users answer invitations. */
export const invitationAnswerCalls = ({ open, accept, decline }: InvitationAnswers) =>
  ({
    async acceptInvitation({ code }, call) {
      const { at, notGiven } = await accept(await open(code, call), call);
      return { details: detailsAfter(at), notGiven: notGivenShown(notGiven, call) };
    },

    async declineInvitation({ code }, call) {
      await decline(await open(code, call), call);
      return {};
    },
  }) satisfies Partial<ServiceImpl<typeof InvitationService>>;

function notGivenShown(notGiven: readonly NotGiven[], call: Call) {
  const refused = refusedOutcome(call);
  return notGiven.map(({ membership, grant, no }): MessageInitShape<typeof NotGivenSchema> => {
    const { value: reason } = refused(withoutFields(no)).outcome;
    const shown = offersShown({ memberships: membership ? [membership] : [], grants: grant ? [grant] : [] });
    const [value] = shown.memberships;
    if (value) return { offer: { case: "membership", value }, reason };
    const [granted = {}] = shown.grants;
    return { offer: { case: "grant", value: granted }, reason };
  });
}
