import { create } from "@bufbuild/protobuf";
import { CreateHumanUserRequestSchema } from "../../../gen/postern/v1/user_pb.ts";
import { type Call, type Deps, keys } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import type { NewFact } from "../../events/fact.ts";
import { messageRules } from "../../guards/validate.ts";
import { messageRule } from "../../rules.ts";
import { countedText, nameKey } from "../callers/login_name.ts";
import { placeOf } from "../passwords/password.ts";
import { takenName } from "../writing/taken_name.ts";
import { createdFact, newUsers, refuseNew, wrongInUser } from "./new_user.ts";

/** A new user, as they describe themselves. */
export type NewPerson = Readonly<Record<"username" | "givenName" | "familyName" | "password", string>>;

/** The organization that somebody joins, and the address that a mailed code has proven. */
type Joining = { readonly owner: string; readonly email: string };

/** Makes the fact that creates a user who joins an organization with a mailed code, and who is the caller from then on. */
export function joiningUsers(deps: Pick<Deps, "sql" | "ids" | "clock" | "secrets">) {
  const { findings, refusal, place, credentials } = newUsers(deps);
  const rules = messageRules([messageRule(CreateHumanUserRequestSchema, wrongInUser)]);
  return async ({ owner, email }: Joining, person: NewPerson, call: Call): Promise<NewFact> => {
    const request = create(CreateHumanUserRequestSchema, { ...person, email, isEmailVerified: true });
    const fields = rules(CreateHumanUserRequestSchema)(request);
    // The rules of fields bring along those of the whole request, but only if one of them is broken.
    const wrong = [...(fields.length > 0 ? fields : wrongInUser(request)), ...othersAddress(request)];
    if (wrong.length > 0) throw refuse.invalid(wrong);
    // The caller is not known yet, so the hash takes the share of unknown callers instead of the organization's.
    const turn = placeOf(call);
    call.values.set(keys.organization, owner);
    const at = place(request, call);
    call.values.set(keys.caller, { userId: at.stream, organization: owner, memberships: [] });
    const found = await findings(request, call);
    const no = refusal(request, found, { call, path: "" });
    // Somebody with a code may learn that a name is taken, but not by whom.
    refuseNew(no?.reason === "LOGIN_NAME_TAKEN" ? takenName({ ...anonymous, name: person.username }) : no);
    const secret = { ...(await credentials(request, found, turn)), ownChoice: true };
    return createdFact(at, request, { secret, ownLoginName: found.ownLoginNames, byMail: true });
  };
}

const anonymous = { reason: "LOGIN_NAME_TAKEN", field: "username" } as const;

/** Refuses a login name that is an address other than the proven one: a sign-in with that address would find it. */
function othersAddress({ username, email }: Readonly<Record<"username" | "email", string>>): Violation[] {
  const key = nameKey({ loginName: username });
  if (key.domain === null || countedText(key) === countedText(nameKey({ loginName: email }))) return [];
  return [{ field: "username", text: "USERNAME_OF_OTHER_ADDRESS", reason: "USERNAME_RESERVED" }];
}
