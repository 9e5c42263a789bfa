import type { Deps } from "../deps.ts";
import { providerChores } from "./chores.ts";
import { type ExplanationSettings, signInExplanations } from "./explanations/explain_sign_in.ts";
import { delegationFolds } from "./tokens/delegation_begin.ts";
import { signOnFolds } from "./tokens/sign_on.ts";
import { signingKeyFolds, signingKeys } from "./tokens/signing_keys.ts";

type Parts = { readonly deps: Deps; readonly instanceId: string };

/** Sign-in at applications: explanations, facts, and expired rows to delete. */
export const provider = {
  serves: {
    ExplanationService: ({ deps }: Parts, settings: ExplanationSettings) => signInExplanations(deps, settings),
  },
  folds: { signingKey: signingKeyFolds, signOn: signOnFolds, delegation: delegationFolds },
  chores: ({ deps, instanceId }: Parts) => providerChores(deps, signingKeys({ ...deps, instanceId })),
};
