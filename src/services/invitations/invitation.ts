import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { type InvitationService, ListInvitationsRequestSchema } from "../../../gen/postern/v1/invitation_pb.ts";
import { type Call, callerOf, type Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { detailsAfter, factOf, next } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { cut, pageOf, pageRule } from "../reading/page.ts";
import {
  type JoiningSends,
  joiningSendsColumns,
  refusedMore,
  refusedSend,
} from "../verification/joining_mail_limits.ts";
import type { MailSettings } from "../verification/mail.ts";
import { joined } from "../writing/batch_refusal.ts";
import { receivedUntil } from "../writing/offer.ts";
import { invitationMails, type OrganizationUse, useOf } from "./invitation_mail.ts";
import { reached } from "./invitation_reach.ts";
import { type InvitationRow, invitation, invitationOf, invitationsOf } from "./invitation_row.ts";
import { judge, refusalsOf } from "./offers.ts";

/** The calls of an organization about its own invitations. */
export const invitationCalls = (deps: Deps, settings: MailSettings) => {
  const { log, sql, clock } = deps;
  const sendsTo = sendsRead(sql, settings);
  const mailOf = invitationMails(deps, settings);

  return {
    async getInvitation({ invitationId }, call) {
      return { invitation: invitation(await found(invitationId, call, "read"), clock()) };
    },

    async listInvitations(request, call) {
      const page = pageOf(ListInvitationsRequestSchema, request, 1);
      const { rows, nextPageToken } = cut(
        await invitationsOf(sql, reached(sql, call, "read"), page),
        page,
        ({ id }) => [id],
      );
      return { invitations: rows.map((row) => invitation(row, clock())), nextPageToken };
    },

    async resendInvitation({ invitationId }, call) {
      const row = await found(invitationId, call, "write");
      await refuseGiving(row, call);
      if (row.email === "") return resentToReceiver(row, call);
      const use = await useOf(sql, row.owner, { settings, now: clock() });
      const nth = await nthTo(row, use, call);
      const { expirationDate: date, secret } = mailOf({ email: row.email, organizationName: use.name, nth }, call);
      const at = next(row, clock());
      const expirationDate = timestampFromDate(date);
      const resent = factOf("invitation", at, { case: "resent", value: { expirationDate } }, secret);
      return log.append(call, [resent], { details: detailsAfter(at), expirationDate });
    },

    async withdrawInvitation({ invitationId }, call) {
      const at = next(await found(invitationId, call, "write"), clock());
      const withdrawn = factOf("invitation", at, { case: "withdrawn", value: {} });
      return log.append(call, [withdrawn], { details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof InvitationService>>;

  /** Extends an invitation that an organization receives; nothing is mailed. */
  function resentToReceiver(row: InvitationRow, call: Call) {
    const at = next(row, clock());
    const expirationDate = timestampFromDate(receivedUntil(clock()));
    const resent = factOf("invitation", at, { case: "resent", value: { expirationDate } });
    return log.append(call, [resent], { details: detailsAfter(at), expirationDate });
  }

  async function found(id: string, call: Call, verb: "read" | "write"): Promise<InvitationRow> {
    const row = await invitationOf(sql, reached(sql, call, verb), id);
    if (!row) throw refuse.notFound("invitation", id);
    return row;
  }

  /** Refuses to vouch for offers that the caller may not make. */
  async function refuseGiving({ owner, ...offers }: InvitationRow, call: Call): Promise<void> {
    const [judged] = await judge(sql, [{ owner, by: callerOf(call), offers, now: clock(), path: "" }]);
    const no = judged && joined(refusalsOf(judged).filter(({ reason }) => reason === "PERMISSION_DENIED"));
    if (no) throw refuse.because(no.reason, no);
  }

  /** The number of the next mail to the address; fails if none can be sent now. */
  async function nthTo({ owner, email }: InvitationRow, { sent }: OrganizationUse, call: Call): Promise<bigint> {
    const sends = await sendsTo({ owner, email }, call.signal);
    if (!sends) throw new Error("sends are always counted");
    const no = refusedMore(sent, settings, "") ?? refusedSend(sends, { settings, now: clock() }, "");
    if (no) throw refuse.because(no.reason, no);
    return sends.nth;
  }
};

const sendsRead = (sql: Sql, settings: MailSettings) =>
  loadOne<{ owner: string; email: string }, JoiningSends>(sql, {
    asked: "owner text, email text",
    select: `select n, ${joiningSendsColumns("asked.email", "invitation", settings)} from asked`,
  });

export const invitationRules = [pageRule(ListInvitationsRequestSchema, 1)];
