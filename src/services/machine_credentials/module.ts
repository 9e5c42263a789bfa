import type { Deps } from "../../deps.ts";
import type { IssuerSettings } from "../applications/issuer_here.ts";
import { machineCredentialService } from "./machine_credential.ts";
import { machineCredentialFolds } from "./machine_credential_fold.ts";
import { machineCredentialRules } from "./machine_credential_rule.ts";
import { machineDelegationLateRules } from "./machine_delegation.ts";

type Parts = { readonly deps: Deps };

/** The client secrets and keys of machines. */
export const machineCredentials = {
  serves: {
    MachineCredentialService: ({ deps }: Parts, settings: IssuerSettings) => machineCredentialService(deps, settings),
  },
  folds: { machineCredential: machineCredentialFolds },
  rules: machineCredentialRules,
  lateRules: machineDelegationLateRules,
};
