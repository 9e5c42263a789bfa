import { AddMachineKeyRequestSchema } from "../../../gen/postern/v1/machine_credential_pb.ts";
import type { Deps } from "../../deps.ts";
import { messageRule } from "../../rules.ts";
import { publicKeyViolations } from "../applications/application_key.ts";
import { pastExpiration } from "../writing/expiration.ts";

export const machineCredentialRules = ({ clock }: Pick<Deps, "clock">) => [
  messageRule(AddMachineKeyRequestSchema, ({ publicKey }) => (publicKey ? publicKeyViolations(publicKey) : []), [
    "publicKey",
  ]),
  messageRule(AddMachineKeyRequestSchema, ({ expirationDate }) => pastExpiration(expirationDate, clock())),
];
