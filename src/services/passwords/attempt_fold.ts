import type { NounFolds } from "../../events/fold.ts";
import { keepMailCodeOf } from "../verification/mail_code.ts";

/** The folds of facts about attempts. They change no table; only a requested reset has a code, and the mail that brings it. */
export const attemptFolds = {
  passwordRefused: {},
  factorRefused: {},
  codeRefused: {},
  passwordChangeRefused: {},
  permissionRefused: {},
  passwordResetRequested: { credentials: keepMailCodeOf("i.payload->>'userId'") },
  more: {},
} satisfies NounFolds<"attempt">;
