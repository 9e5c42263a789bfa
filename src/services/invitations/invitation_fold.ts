import { type NounFolds, touch } from "../../events/fold.ts";
import { historyInFact } from "../reading/row.ts";
import { keepMailCodeOf } from "../verification/mail_code.ts";
import { invitationInserted } from "./invitation_row.ts";

const expiration = "(f.payload->>'expirationDate')::timestamptz";

// Its mails count against the limits of the organization.
const keepCode = keepMailCodeOf("i.stream", "i.owner");

const dropCodes = "delete from mail_codes c using $facts f where c.user_id = f.stream and c.purpose = 'invitation'";

// An organization receives one offer per invitation.
const offered = "coalesce(f.payload->'memberships'->0, f.payload->'grants'->0, f.payload->'projectGrant')";
const isReceived = "(f.payload ? 'userId' or f.payload ? 'projectGrant')";

const insertedRow = invitationInserted(
  [],
  {
    inviterId: "coalesce(f.payload->>'inviterId', f.actor, '')",
    memberships: "f.payload->'memberships'",
    grants: "f.payload->'grants'",
    projectGrant: "f.payload->'projectGrant'",
    recipientId: "coalesce(f.payload->>'userId', f.payload->'projectGrant'->>'organizationId')",
    kind: `case when o.one is null then null when f.payload ? 'projectGrant' then 'project_grant'
              when f.payload->'memberships'->0 is not null then 'member' else 'user_grant' end`,
    objectId: `case when o.one is not null
           then coalesce(nullif(o.one->>'projectGrantId', ''), nullif(o.one->>'projectId', ''), f.owner) end`,
    projectId: "nullif(o.one->>'projectId', '')",
    projectGrantId: "nullif(o.one->>'projectGrantId', '')",
    expirationDate: expiration,
    ...historyInFact,
  },
  { columns: ["projectId"], values: ["projectGrant", "kind", "objectId", "projectId"] },
);

/** The end of an invitation removes its address and its code. */
const over = {
  views: ["delete from invitations v using $facts f where v.owner = f.owner and v.invitation_id = f.stream"],
  credentials: [
    "delete from invitation_addresses a using $facts f where a.invitation_id = f.stream",
    "delete from invitation_receivers r using $facts f where r.invitation_id = f.stream",
    dropCodes,
  ],
};

/** The folds of facts about an invitation: its row, its address, its code and the mail with it. */
export const invitationFolds = {
  created: {
    views: [
      `${insertedRow}
       from $facts f cross join lateral (select case when ${isReceived} then ${offered} end as one) o`,
    ],
    credentials: [
      `insert into invitation_addresses (invitation_id, owner, email)
       select i.stream, i.owner, i.secret->>'email' from $input i where i.secret->>'email' is not null`,
      `insert into invitation_receivers (invitation_id, owner, receiver_id)
       select i.stream, i.owner, i.secret->>'receiverId' from $input i where i.secret->>'receiverId' is not null`,
      ...keepCode,
    ],
  },
  resent: {
    views: [
      touch("invitations", "invitation_id", `expiration_date = ${expiration}, inviter_id = coalesce(f.actor, '')`),
    ],
    credentials: [dropCodes, ...keepCode],
  },
  withdrawn: over,
  accepted: over,
  declined: over,
  expired: over,
  ended: over,
} satisfies NounFolds<"invitation">;
