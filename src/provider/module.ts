import type { Deps } from "../deps.ts";
import { providerChores } from "./expiry.ts";
import { signOnFolds } from "./tokens/sign_on.ts";
import { signingKeyFolds, signingKeys } from "./tokens/signing_keys.ts";

type Parts = { readonly deps: Deps; readonly instanceId: string };

/** Sign-in at applications: what it records, and what it deletes. */
export const provider = {
  folds: { signingKey: signingKeyFolds, signOn: signOnFolds },
  chores: ({ deps, instanceId }: Parts) => providerChores(deps, signingKeys({ ...deps, instanceId })),
};
