import type { ServiceImpl } from "@connectrpc/connect";
import { type InvitationService, ListReceivedInvitationsRequestSchema } from "../../../gen/postern/v1/invitation_pb.ts";
import { RoleKind } from "../../../gen/postern/v1/user_role_pb.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { detailsAfter, factOf, type NewFact, next } from "../../events/fact.ts";
import { membershipsRead } from "../callers/caller_lookups.ts";
import { type GiverKey, giverRead } from "../members/role_giver.ts";
import { cut, pageOf, pageRule } from "../reading/page.ts";
import { withoutFields } from "./answer_invitation.ts";
import { givingFacts, type Judged, judge, refusalsOf } from "./offers.ts";
import { type OpenReceived, receivedBy, receivedForUser, receivedRead, receivedShown } from "./received_row.ts";

/** The calls of an organization about the invitations that it receives. */
export const receivedInvitations = (deps: Deps) => {
  const { log, sql, clock } = deps;
  const read = receivedRead(sql);
  const [judgedNow, factsFor, barredFrom] = [judging(deps), givingFacts(deps), barring(deps)];

  return {
    async listReceivedInvitations(request, call) {
      const page = pageOf(ListReceivedInvitationsRequestSchema, request, 1);
      const of = { receiver: organizationOf(call), userId: request.userId, now: clock() };
      const found = await (request.userId ? receivedForUser(sql, of, page) : receivedBy(sql, of, page));
      const { rows, nextPageToken } = cut(found, page, ({ id }) => [id]);
      return { invitations: rows.map(receivedShown), nextPageToken };
    },

    async acceptReceivedInvitation({ invitationId }, call) {
      const row = await received(invitationId, call);
      const { owner, inviterId } = row;
      const userId = row.userId ?? "";
      const getting = { owner, userId, invitationId, inviterId, acceptedBy: organizationOf(call) };
      const { facts, ended } = await factsFor(getting, await judgedNow(row), call);
      const at = next(row, clock());
      const accepted = factOf("invitation", at, { case: "accepted", value: { userId, newUser: false } });
      return log.append(call, [...facts, accepted], { details: detailsAfter(at), endedCredentials: ended });
    },

    async declineReceivedInvitation({ invitationId, userId }, call) {
      const row = await received(invitationId, call);
      // Users decline only their own invitations.
      if (userId && row.userId !== userId) throw refuse.notFound("invitation", invitationId);
      const at = next(row, clock());
      const declined = factOf("invitation", at, { case: "declined", value: {} });
      return log.append(call, [declined, ...(await barredFrom(row, call))], { details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof InvitationService>>;

  async function received(id: string, call: Call): Promise<OpenReceived> {
    const asked = { receiver: organizationOf(call), id, now: clock().toISOString() };
    const row = await read(asked, call.signal);
    if (!row) throw refuse.notFound("invitation", id);
    return row;
  }
};

export const receivedInvitationRules = [pageRule(ListReceivedInvitationsRequestSchema, 1)];

/** Makes the decision whether the inviter may still give the offer that an organization received. */
function judging({ sql, clock }: Deps) {
  const membershipsOf = membershipsRead(sql);
  return async (row: OpenReceived): Promise<Judged> => {
    const { owner, userId, inviterId } = row;
    if (!row.organizationActive) throw refuse.because("ORGANIZATION_INACTIVE", { params: { id: owner } });
    const by = { memberships: row.inviterActive ? await membershipsOf(inviterId) : [] };
    const [judged] = await judge(sql, [
      { owner, by, userId: userId ?? undefined, offers: row, now: clock(), path: "" },
    ]);
    if (!judged) throw new Error("an invitation was not judged");
    const [no] = refusalsOf(judged);
    // The caller could not change what the inviter lacks.
    if (no?.reason === "PERMISSION_DENIED") throw refuse.because("INVITER_NOT_ENTITLED");
    if (no) throw refuse.because(no.reason, withoutFields(no));
    return judged;
  };
}

/** Makes the fact by which a user can get no more roles of the declined kind from an organization, if it could still give them. */
function barring({ sql, clock }: Deps) {
  const giverOf = giverRead(sql);
  return async ({ owner, userId, memberships }: OpenReceived, call: Call): Promise<NewFact[]> => {
    if (userId === null) return [];
    const key: GiverKey = { owner: organizationOf(call), id: userId, giver: owner };
    const giver = await giverOf(key, call.signal);
    const kind = memberships.length > 0 ? RoleKind.MEMBERSHIP : RoleKind.USER_GRANT;
    const ofKind = giver?.kinds.find((one) => one.kind === kind);
    if (!giver || !ofKind || ofKind.endedBy) return [];
    // Roles in effect, or accepted at this moment, stay.
    const value = {
      organizationId: owner,
      kinds: [kind],
      byAdministrator: userId !== callerOf(call).userId,
      kept: true,
    };
    return [factOf("user", next(giver, clock()), { case: "rolesEnded", value })];
  };
}
