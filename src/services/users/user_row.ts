import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { UserState } from "../../../gen/postern/v1/user_pb.ts";
import { details } from "../../events/fact.ts";
import { isLocked } from "../passwords/password.ts";
import { history, historyInFact, inFact, insertOf, type RowOf, selected } from "../reading/row.ts";
import { addressInFact, addressShown } from "./postal_address.ts";
import { isOwnName } from "./username.ts";

const read = {
  owner: "text",
  kind: "text",
  username: "text",
  givenName: "text?",
  familyName: "text?",
  email: "text?",
  emailVerified: "boolean",
  requiresFactor: "boolean",
  phone: "text?",
  phoneVerified: "boolean",
  address: "jsonb?",
  language: "text?",
  name: "text?",
  active: "boolean",
  ownLoginName: "boolean",
  locked: "boolean",
  lockedUntil: "timestamptz?",
  ...history,
} as const;

/** Columns that are written, but not read with the others. */
const unread = { emailSetter: "text?", provenEmail: "text?" } as const;

/** A user's columns other than the id, from which its row, select lists and inserts derive. */
export const userRow = { ...read, ...unread };

export type UserRow = RowOf<typeof read> & { readonly id: string };

export const userColumns = selected("u", Object.keys(read), { lines: ["email", "version"], indent: 2 });

const userInserted = insertOf({ table: "users", id: "user_id" }, userRow);

const flagInFact = (name: string) => `coalesce((f.payload->>'${name}')::boolean, false)`;

const activeInFact = "not coalesce((f.payload->>'inactive')::boolean, false)";

/** The insert of a person, from the fact `f`. */
export const humanInserted = userInserted(
  ["phoneVerified", "name", "locked", "lockedUntil"],
  {
    kind: "'human'",
    ...inFact("username", "givenName", "familyName", "email"),
    emailVerified: flagInFact("emailVerified"),
    emailSetter: "f.actor",
    provenEmail: "case when (f.payload->>'byMail')::boolean then lower(f.payload->>'email') end",
    ...inFact("phone"),
    address: addressInFact,
    language: "nullif(f.payload->>'language', '')",
    requiresFactor: flagInFact("requiresFactor"),
    active: activeInFact,
    ownLoginName: isOwnName,
    ...historyInFact,
  },
  { columns: ["requiresFactor"], values: ["email", "provenEmail", "address", "ownLoginName"] },
);

/** The insert of a machine, from the fact `f`. */
export const machineInserted = userInserted(
  [
    ...(["givenName", "familyName", "email", "emailVerified", "emailSetter", "provenEmail", "phone"] as const),
    ...(["phoneVerified", "address", "language", "requiresFactor", "locked", "lockedUntil"] as const),
  ],
  {
    kind: "'machine'",
    ...inFact("username", "name"),
    active: activeInFact,
    ownLoginName: isOwnName,
    ...historyInFact,
  },
  { values: ["ownLoginName"] },
);

export const user = (row: UserRow, now: Date) => ({
  id: row.id,
  details: details(row),
  state: stateOf(row, now),
  username: row.username,
  kind: row.kind === "human" ? human(row) : machine(row),
  ownLoginName: row.ownLoginName,
  ...(isLocked(row, now) && row.lockedUntil !== null ? { lockedUntil: timestampFromDate(row.lockedUntil) } : {}),
});

const human = ({
  givenName,
  familyName,
  email,
  phone,
  phoneVerified,
  emailVerified,
  requiresFactor,
  address,
  language,
}: UserRow) => {
  const names = { givenName: givenName ?? "", familyName: familyName ?? "" };
  const known = { ...names, email: email ?? "", emailVerified, phoneVerified, requiresFactor };
  return {
    case: "human",
    value: {
      ...known,
      ...(phone === null ? {} : { phone }),
      ...addressShown(address),
      ...(language === null ? {} : { language }),
    },
  } as const;
};

const machine = ({ name }: UserRow) => ({ case: "machine", value: { name: name ?? "" } }) as const;

function stateOf(row: UserRow, now: Date): UserState {
  if (!row.active) return UserState.INACTIVE;
  return isLocked(row, now) ? UserState.LOCKED : UserState.ACTIVE;
}
