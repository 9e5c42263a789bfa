import type { NounFolds } from "../../events/fold.ts";
import { keepMailCodeOf } from "../verification/mail_code.ts";

const keepCode = keepMailCodeOf("i.payload->>'userId'");

/** The folds of facts about attempts. They change no table; only requests have a mail, which for a reset or a sign-in contains a code. */
export const attemptFolds = {
  passwordRefused: {},
  factorRefused: {},
  codeRefused: {},
  passwordChangeRefused: {},
  permissionRefused: {},
  passwordResetRequested: { credentials: keepCode },
  signInCodeRequested: { credentials: keepCode },
  // The mail counts as one of the organization's registrations.
  registrationRequested: { credentials: keepMailCodeOf("i.payload->>'userId'", "i.owner") },
  more: {},
} satisfies NounFolds<"attempt">;
