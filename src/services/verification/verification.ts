import type { CodePurpose } from "../../../gen/postern/v1/attempt_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { reasonOf, refuse, type Violation } from "../../errors.ts";
import { type At, detailsAfter, type Versioned } from "../../events/fact.ts";
import { userInForce } from "../callers/in_force.ts";

/** How to change or verify a phone number or email address, or request a code. */
export type Modes = {
  readonly sendCode?: object | undefined;
  readonly returnCode?: object | undefined;
  readonly isVerified?: boolean | undefined;
};

/** The attempts at a user's code so far, and its expiry; null if no code is valid. */
type CodeState = { readonly codeAttempts: number | null; readonly codeExpiration: Date | null };

/** A user whose number or address is being changed or verified, and the state of its code. */
export type VerifiableUser = Versioned &
  CodeState & {
    readonly kind: string;
    readonly active: boolean;
    readonly verified: boolean;
  };

/** The columns of a VerifiableUser `u` with its code `c`, except `verified`. */
export const verifiableColumns = `u.user_id as id, u.owner, u.kind, ${userInForce} as active,
      u.version, u.created, u.changed, c.attempts as "codeAttempts", c.expiration_date as "codeExpiration"`;

/** The number of attempts that a code allows. */
export const codeAttempts = 5;

/** Finds mutually exclusive modes, with a violation for each that is set. */
export function exclusive({ sendCode, returnCode, isVerified }: Modes): Violation[] {
  const modes = {
    sendCode: sendCode !== undefined,
    returnCode: returnCode !== undefined,
    isVerified: isVerified === true,
  };
  const set = Object.entries(modes).flatMap(([field, on]) => (on ? [field] : []));
  if (set.length < 2) return [];
  return set.map((field) => ({
    field,
    text: "FIELD_COMBINED",
    params: { other: set.filter((other) => other !== field).join(", ") },
    reason: "MUTUALLY_EXCLUSIVE",
  }));
}

/** Whether a request ends an earlier verification: it asks for a code, or marks the new value as unverified. */
export const asksForCode = ({ sendCode, returnCode, isVerified }: Modes): boolean =>
  sendCode !== undefined || returnCode !== undefined || isVerified === false;

/** Refuses a change for a machine, and one to the value that is already verified. */
export function refuseChange({ id, kind, verified }: VerifiableUser, { isSame, modes, reason }: Change): void {
  if (kind !== "human") throw refuse.because("USER_NOT_HUMAN", { params: { id } });
  if (isSame && verified && !asksForCode(modes)) throw refuse.because(reason);
}

type Change = {
  readonly isSame: boolean;
  readonly modes: Modes;
  readonly reason: "PHONE_UNCHANGED" | "EMAIL_UNCHANGED";
};

/** The details after a change, in a response that has no creation date. */
export function withoutCreation(at: At) {
  const { creationDate: _, ...rest } = detailsAfter(at);
  return rest;
}

/** A code that a user presented; the comparison is undefined if the code had no attempts left. */
type Presented = { readonly isRight: boolean | undefined; readonly purpose: CodePurpose; readonly call: Call };

/** Makes the refusal of codes that are wrong, or that had no attempt left. */
export const wrongCodes =
  ({ clock, noteAttempt }: Pick<Deps, "clock" | "noteAttempt">) =>
  (user: VerifiableUser, { isRight, purpose, call }: Presented): void => {
    if (isRight) return;
    const error = isRight === undefined ? noTryLeft(user, clock()) : wrongCode();
    if (reasonOf(error) !== "CONFLICT") noteAttempt({ case: "codeRefused", value: { purpose } }, user, call);
    throw error;
  };

/** Makes the error for a code without attempts left; if the code has disappeared since, the command runs again. */
function noTryLeft({ codeAttempts: tries, codeExpiration }: CodeState, now: Date) {
  if (tries === null || codeExpiration === null || codeExpiration <= now) return refuse.because("CODE_EXPIRED");
  if (tries < codeAttempts) return refuse.because("CONFLICT");
  const retrySeconds = Math.ceil((codeExpiration.getTime() - now.getTime()) / 1000);
  return refuse.because("CODE_ATTEMPTS", { retrySeconds });
}

function wrongCode() {
  const reason = "CODE_INVALID";
  return refuse.because(reason, { violations: [{ field: "verificationCode", text: "CODE_NOT_LAST", reason }] });
}
