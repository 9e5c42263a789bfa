import type { ServiceImpl } from "@connectrpc/connect";
import { CodePurpose } from "../../../gen/postern/v1/attempt_pb.ts";
import type { RegistrationService } from "../../../gen/postern/v1/registration_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { detailsAfter, factOf, next, type Versioned } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { joiningCodeHash } from "../../security/mailed_secret.ts";
import { countedText, nameKey } from "../callers/login_name.ts";
import { countNetwork } from "../callers/network_rate.ts";
import { type PolicyInForce, policyColumn } from "../policies/policy.ts";
import { joiningUsers, type NewPerson } from "../users/joining_user.ts";
import { type Admission, admissionColumns, refuseOutsiders } from "./registration_audience.ts";

/** The maximum number of wrong codes from one address per minute on this node; 0 sets no limit. */
export type CompletionSettings = { readonly signInFailuresPerAddressPerMinute: number };

/** A registration that can be completed, as seen by somebody with its code. */
export type OpenRegistration = Versioned &
  Admission & {
    readonly email: string;
    readonly organizationName: string;
    /** Whether the organization has proven a domain. */
    readonly hasDomain: boolean;
    /** The hash of the cookie of the browser that asked for the code, in hexadecimal; null if none did. */
    readonly browser: string | null;
    readonly policy: PolicyInForce;
  };

/** A new user, the name to sign in with, and the time that distinguishes the password from a later one. */
export type Registered = {
  readonly userId: string;
  readonly username: string;
  readonly passwordSet: Date;
  readonly details: ReturnType<typeof detailsAfter>;
};

/** The steps that complete a registration, shared by calls and pages. */
export type RegistrationCompletions = ReturnType<typeof registrationCompletions>;

/** Makes the steps that complete a registration. Both need the code in its mail. */
export function registrationCompletions(deps: Deps, settings: CompletionSettings) {
  const { log, sql, clock, failureRate, noteAttempt } = deps;
  const read = openRead(sql);
  const guesses = failureRate("codes of registrations", settings.signInFailuresPerAddressPerMinute);
  const newUser = joiningUsers(deps);

  return { open, complete };

  /** Finds a registration by its code. The guess is counted before the lookup; a correct one is taken back. */
  async function open(code: string, call: Call): Promise<OpenRegistration> {
    const uncount = countNetwork(guesses, call);
    const hash = joiningCodeHash(code).toString("hex");
    const found = await read({ hash, now: clock().toISOString() }, call.signal);
    if (!found) {
      noteAttempt({ case: "codeRefused", value: { purpose: CodePurpose.REGISTRATION } }, undefined, call);
      throw refuse.because("CODE_INVALID", { violations: [notInForce] });
    }
    uncount();
    refuseOutsiders(found);
    if (found.knownAs !== null) throw refuse.because("REGISTRATION_ADDRESS_KNOWN");
    return found;
  }

  /** Creates the user and ends the registration in one statement, so that it is completed once. */
  async function complete(registration: OpenRegistration, person: NewPerson, call: Call): Promise<Registered> {
    // Otherwise anybody with a code could ask for any name whether it is taken.
    const uncount = countNetwork(guesses, call);
    const username = person.username === "" ? registration.email : person.username;
    refuseNameOfOthers(registration, username);
    const created = await newUser(registration, { ...person, username }, call);
    const { stream: userId, time: passwordSet } = created.at;
    const completed = factOf("registration", next(registration, clock()), { case: "completed", value: { userId } });
    const done = { userId, username, passwordSet, details: detailsAfter(created.at) };
    await log.append(call, [created, completed], done);
    uncount();
    return done;
  }
}

/**
 * Refuses a name that would pass for the address `name@domain` in an organization that has proven the domain. Nobody vouches for people who
 * register, so their name is their address, or the part before the `@` if the domain is the organization's.
 */
function refuseNameOfOthers({ hasDomain, isOwnDomain, email }: OpenRegistration, username: string): void {
  const own = [email, ...(isOwnDomain ? [email.slice(0, email.lastIndexOf("@"))] : [])];
  const textOf = (loginName: string) => countedText(nameKey({ loginName }));
  if (!hasDomain || own.some((one) => textOf(one) === textOf(username))) return;
  throw refuse.invalid([{ field: "username", text: "USERNAME_NOT_ADDRESS", reason: "USERNAME_RESERVED" }]);
}

const notInForce: Violation = { field: "code", text: "CODE_NOT_IN_FORCE", reason: "CODE_INVALID" };

const openRead = (sql: Sql) =>
  loadOne<{ hash: string; now: string }, OpenRegistration>(sql, {
    asked: "hash text, now timestamptz",
    select: `select n, r.registration_id as id, r.owner, r.version, r.created, r.changed, c.email, h.name as "organizationName",
        exists (select from domains d where d.owner = r.owner and d.proven offset 0) as "hasDomain",
        encode(c.browser, 'hex') as browser, ${policyColumn("r.owner")} as policy,
        ${admissionColumns({ owner: "r.owner", email: "c.email", domain: "split_part(lower(c.email), '@', 2)" })}
      from asked
      join mail_codes c on c.mac = decode(asked.hash, 'hex') and c.purpose = 'registration' and c.expiration_date > asked.now
      join registrations r on r.registration_id = c.user_id
      join organizations h on h.organization_id = r.owner`,
  });

/** The call that completes a registration. */
export const registrationCompletionCalls = ({ open, complete }: RegistrationCompletions) =>
  ({
    async completeRegistration({ code, givenName, familyName, password, username: chosen }, call) {
      const person = { givenName, familyName, password, username: chosen };
      const { userId, username, details } = await complete(await open(code, call), person, call);
      return { userId, username, details };
    },
  }) satisfies Partial<ServiceImpl<typeof RegistrationService>>;
