import type { NounFolds } from "../../events/fold.ts";
import { keepMailCodeOf } from "../verification/mail_code.ts";

/** The folds of facts about attempts. They change no table; only requests have a mail, which for a reset brings a code. */
export const attemptFolds = {
  passwordRefused: {},
  factorRefused: {},
  codeRefused: {},
  passwordChangeRefused: {},
  permissionRefused: {},
  passwordResetRequested: { credentials: keepMailCodeOf("i.payload->>'userId'") },
  // The mail counts as one of the organization's registrations.
  registrationRequested: { credentials: keepMailCodeOf("i.payload->>'userId'", "i.owner") },
  more: {},
} satisfies NounFolds<"attempt">;
