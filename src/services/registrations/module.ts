import type { Deps } from "../../deps.ts";
import { handlers } from "../module.ts";
import {
  type CompletionSettings,
  registrationCompletionCalls,
  registrationCompletions,
} from "./complete_registration.ts";
import { expiredRegistrations } from "./registration_chores.ts";
import { registrationFolds } from "./registration_fold.ts";
import {
  type RequestSettings,
  registrationRequestCalls,
  registrationRequests,
  registrationRules,
} from "./request_registration.ts";

type Parts = { readonly deps: Deps };

/** Registrations: people create an account of their own. */
export const registrations = {
  serves: {
    RegistrationService: ({ deps }: Parts, settings: RequestSettings & CompletionSettings) =>
      handlers(
        registrationRequestCalls(registrationRequests(deps, settings)),
        registrationCompletionCalls(registrationCompletions(deps, settings)),
      ),
  },
  folds: { registration: registrationFolds },
  rules: () => registrationRules,
  chores: ({ deps }: Parts) => [expiredRegistrations(deps)],
};
