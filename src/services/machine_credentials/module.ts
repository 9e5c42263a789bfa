import { MachineCredentialService } from "../../../gen/postern/v1/machine_credential_pb.ts";
import type { Deps } from "../../deps.ts";
import type { IssuerSettings } from "../applications/issuer_here.ts";
import { serving } from "../module.ts";
import { machineCredentialService } from "./machine_credential.ts";
import { machineCredentialFolds } from "./machine_credential_fold.ts";
import { machineCredentialRules } from "./machine_credential_rule.ts";
import { machineDelegationLateRules } from "./machine_delegation.ts";

type Parts = { readonly deps: Deps };

/** The client secrets and keys of machines. */
export const machineCredentials = {
  serves: [
    serving(MachineCredentialService, ({ deps }: Parts, settings: IssuerSettings) =>
      machineCredentialService(deps, settings),
    ),
  ],
  folds: { machineCredential: machineCredentialFolds },
  rules: machineCredentialRules,
  lateRules: machineDelegationLateRules,
};
