import type { ReceivedInvitationJson } from "../../gen/postern/v1/invitation_pb.ts";
import { call } from "../calls/client.ts";
import { useList } from "../calls/use_list.ts";
import { Ask } from "../parts/ask.tsx";
import type { Submission } from "../parts/form.tsx";
import { List } from "../parts/list.tsx";
import { Who } from "../parts/names.tsx";
import { Card, Empty } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { may } from "../sign_in/me.ts";
import { invitationTexts } from "../texts/invitations.ts";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { Offer } from "./offer.tsx";

type ReceivedProps = {
  readonly organizationId: string;
  /** Shows only offers to this user. */
  readonly userId?: string;
  readonly onAnswered?: () => unknown;
};

/** Offers from other organizations, which take effect once somebody here accepts them. */
export function Received({ organizationId, userId, onAnswered }: ReceivedProps) {
  const received = useList("InvitationService/ListReceivedInvitations", userId ? { userId } : {}, {
    rowsOf: ({ invitations }) => invitations,
  });
  const mayAnswer = may("InvitationService/AcceptReceivedInvitation", { organizationId });
  const answer =
    (method: "AcceptReceivedInvitation" | "DeclineReceivedInvitation", invitationId: string) =>
    async ({ key }: Submission) => {
      await call(`InvitationService/${method}`, { invitationId }, { organizationId, key });
      await received.reload();
      await onAnswered?.();
    };
  const acts = ({ id = "", organizationName: name = "" }: ReceivedInvitationJson) =>
    mayAnswer && (
      <div class="actions">
        <Ask
          text={t(invitationTexts.accept)}
          kind="main"
          about={t(invitationTexts.acceptAbout, { name })}
          act={answer("AcceptReceivedInvitation", id)}
        />
        <Ask
          text={t(invitationTexts.decline)}
          about={t(invitationTexts.declineAbout, { name })}
          act={answer("DeclineReceivedInvitation", id)}
        />
      </div>
    );
  const whom = {
    title: t(invitationTexts.who),
    cell: (one: ReceivedInvitationJson) =>
      one.userId ? <Who id={one.userId} /> : <span>{t(invitationTexts.theOrganization)}</span>,
  };
  return (
    <Card class="flush" title={t(invitationTexts.received)} about={t(invitationTexts.receivedAbout)}>
      <List
        of={received}
        label={t(invitationTexts.received)}
        keyOf={({ id = "" }) => id}
        columns={[
          { title: t(invitationTexts.from), cell: ({ organizationName }) => <b>{organizationName}</b> },
          ...(userId ? [] : [whom]),
          { title: t(invitationTexts.offer), cell: (one) => <Offered of={one} /> },
          {
            title: t(invitationTexts.expires),
            cell: ({ expirationDate }) => expirationDate && <Time at={expirationDate} />,
            isMinor: true,
          },
          { title: t(partTexts.acts), cell: acts, isActs: true },
        ]}
        empty={<Empty>{t(invitationTexts.noneReceived)}</Empty>}
      />
    </Card>
  );
}

const Offered = ({ of: { membership, grant, projectGrant } }: { readonly of: ReceivedInvitationJson }) => (
  <Offer memberships={membership ? [membership] : []} grants={grant ? [grant] : []} projectGrant={projectGrant} />
);
