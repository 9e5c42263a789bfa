import { type NounFolds, touch } from "../../events/fold.ts";
import { keepMailCodeOf } from "../verification/mail_code.ts";

const expiration = "(f.payload->>'expirationDate')::timestamptz";

// Its mails count against the limits of the organization.
const keepCode = keepMailCodeOf("i.stream", "i.owner");

/** A registration that is over leaves neither its address nor a valid code. */
const over = {
  views: ["delete from registrations r using $facts f where r.owner = f.owner and r.registration_id = f.stream"],
  credentials: [
    "delete from registration_addresses a using $facts f where a.registration_id = f.stream",
    "delete from mail_codes c using $facts f where c.user_id = f.stream and c.purpose = 'registration'",
    // Including mails that were given up.
    "delete from mail_messages m using $facts f where m.user_id = f.stream",
  ],
};

/** The folds of facts about a registration: its row, its address, its codes and the mails with them. */
export const registrationFolds = {
  created: {
    views: [
      `insert into registrations (owner, registration_id, expiration_date, version, created, changed)
       select f.owner, f.stream, ${expiration}, f.version, f.time, f.time from $facts f`,
    ],
    credentials: [
      `insert into registration_addresses (registration_id, owner, email)
       select i.stream, i.owner, i.secret->>'email' from $input i where i.secret->>'email' is not null`,
      ...keepCode,
    ],
  },
  // An earlier code stays valid, so that another person who types the address takes nothing away.
  resent: {
    views: [touch("registrations", "registration_id", `expiration_date = ${expiration}`)],
    credentials: keepCode,
  },
  completed: over,
  expired: over,
} satisfies NounFolds<"registration">;
