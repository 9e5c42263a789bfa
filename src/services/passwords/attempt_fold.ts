import type { NounFolds } from "../../events/fold.ts";

/** The folds of facts about attempts, which change no table. */
export const attemptFolds = {
  passwordRefused: {},
  factorRefused: {},
  codeRefused: {},
  passwordChangeRefused: {},
  permissionRefused: {},
  passwordResetRequested: {},
  more: {},
} satisfies NounFolds<"attempt">;
