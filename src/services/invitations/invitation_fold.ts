import { type NounFolds, touch } from "../../events/fold.ts";
import { keepMailCodeOf } from "../verification/mail_code.ts";

const expiration = "(f.payload->>'expirationDate')::timestamptz";

// Its mails count against the limits of the organization.
const keepCode = keepMailCodeOf("i.stream", "i.owner");

const dropCodes = "delete from mail_codes c using $facts f where c.user_id = f.stream and c.purpose = 'invitation'";

/** An invitation that is over leaves neither its address nor a code that works. */
const over = {
  views: ["delete from invitations v using $facts f where v.owner = f.owner and v.invitation_id = f.stream"],
  credentials: ["delete from invitation_addresses a using $facts f where a.invitation_id = f.stream", dropCodes],
};

/** The folds of facts about an invitation: its row, its address, its code and the mail that brings it. */
export const invitationFolds = {
  created: {
    views: [
      `insert into invitations (owner, invitation_id, inviter_id, memberships, grants, expiration_date, version, created, changed)
       select f.owner, f.stream, coalesce(f.actor, ''), f.payload->'memberships', f.payload->'grants', ${expiration},
         f.version, f.time, f.time
       from $facts f`,
    ],
    credentials: [
      `insert into invitation_addresses (invitation_id, owner, email)
       select i.stream, i.owner, i.secret->>'email' from $input i where i.secret->>'email' is not null`,
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
} satisfies NounFolds<"invitation">;
