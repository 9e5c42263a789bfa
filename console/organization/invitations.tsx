import type { InvitationJson } from "../../gen/postern/v1/invitation_pb.ts";
import { call } from "../calls/client.ts";
import { useList } from "../calls/use_list.ts";
import { Offer } from "../objects/offer.tsx";
import { Received } from "../objects/received.tsx";
import { Ask } from "../parts/ask.tsx";
import { StateBadge } from "../parts/badge.tsx";
import type { Submission } from "../parts/form.tsx";
import { List } from "../parts/list.tsx";
import { Menu } from "../parts/menu.tsx";
import { Named } from "../parts/names.tsx";
import { Card, Empty } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { say } from "../parts/toasts.tsx";
import { may } from "../sign_in/me.ts";
import { invitationTexts } from "../texts/invitations.ts";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";

type Of = { readonly organizationId: string };

/** The invitations of an organization: those that it sent, and those that it received. */
export function InvitationCards({ organizationId }: Of) {
  return (
    <div class="cards">
      {may("InvitationService/ListInvitations", { organizationId }) && <Sent organizationId={organizationId} />}
      <Received organizationId={organizationId} />
    </div>
  );
}

function Sent({ organizationId }: Of) {
  const sent = useList("InvitationService/ListInvitations", {}, { rowsOf: ({ invitations }) => invitations });
  const mayWrite = may("InvitationService/CreateInvitations", { organizationId });
  const invite = async ({ draft: { emails }, key }: Submission) => {
    const lines = typeof emails === "object" ? emails.map((line) => line.trim()).filter(Boolean) : [];
    const request = { items: lines.map((email) => ({ email })), allOrNothing: true };
    await call("InvitationService/CreateInvitations", request, { organizationId, key });
    say(t(invitationTexts.mailed));
    await sent.reload();
  };
  return (
    <Card
      class="flush"
      title={t(invitationTexts.sent)}
      about={t(invitationTexts.sentAbout)}
      actions={
        mayWrite && (
          <Ask
            text={t(invitationTexts.invite)}
            icon="plus"
            kind="main"
            id="invite"
            fields={[
              { name: "emails", label: t(invitationTexts.emails), kind: "lines", help: t(invitationTexts.emailsAbout) },
            ]}
            values={{ emails: [] }}
            check={({ emails }) => (hasLine(emails) ? undefined : { field: "emails", text: t(partTexts.missing) })}
            act={invite}
          />
        )
      }
    >
      <List
        of={sent}
        label={t(invitationTexts.sent)}
        keyOf={({ id = "" }) => id}
        columns={[
          { title: t(invitationTexts.who), cell: (one) => <Whom of={one} /> },
          {
            title: t(invitationTexts.offer),
            cell: (one) => <Offer {...one} />,
            isMinor: true,
          },
          {
            title: t(invitationTexts.expires),
            cell: ({ expirationDate }) => expirationDate && <Time at={expirationDate} />,
            isMinor: true,
          },
          {
            title: t(partTexts.acts),
            cell: (one) => mayWrite && <Acts of={one} organizationId={organizationId} onDone={sent.reload} />,
            isActs: true,
          },
        ]}
        empty={<Empty>{t(invitationTexts.noneSent)}</Empty>}
      />
    </Card>
  );
}

const hasLine = (value: unknown): boolean => Array.isArray(value) && value.some((line) => String(line).trim() !== "");

function Whom({ of: { email, userId, projectGrant, state } }: { readonly of: InvitationJson }) {
  return (
    <div class="badges">
      {userId ? (
        <Named id={userId} kind="user" />
      ) : projectGrant ? (
        <Named id={projectGrant.organizationId ?? ""} kind="organization" />
      ) : (
        <b>{email}</b>
      )}
      <StateBadge state={state} />
    </div>
  );
}

type ActsProps = Of & { readonly of: InvitationJson; readonly onDone: () => Promise<void> };

function Acts({ of: { id: invitationId = "" }, organizationId, onDone }: ActsProps) {
  const act =
    (method: "ResendInvitation" | "WithdrawInvitation") =>
    async ({ key }: Submission) => {
      await call(`InvitationService/${method}`, { invitationId }, { organizationId, key });
      if (method === "ResendInvitation") say(t(invitationTexts.resent));
      await onDone();
    };
  return (
    <Menu>
      <Ask text={t(invitationTexts.resend)} about={t(invitationTexts.resendAbout)} act={act("ResendInvitation")} />
      <Ask
        text={t(invitationTexts.withdraw)}
        kind="danger"
        about={t(invitationTexts.withdrawAbout)}
        act={act("WithdrawInvitation")}
      />
    </Menu>
  );
}
