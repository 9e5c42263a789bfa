import { fromJson } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { JsonWebKeySchema, OidcTokenType } from "../../../gen/postern/v1/application_pb.ts";
import type { MachineCredentialService } from "../../../gen/postern/v1/machine_credential_pb.ts";
import type { Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { details, detailsAfter } from "../../events/fact.ts";
import type { IssuerSettings } from "../applications/issuer_here.ts";
import { handlers } from "../module.ts";
import { type CredentialRow, machineRead, removal } from "./machine.ts";
import { machineDelegations } from "./machine_delegation.ts";
import { machineKeys } from "./machine_key.ts";
import { machineSecrets } from "./machine_secret.ts";

export const machineCredentialService = (deps: Deps, settings: IssuerSettings) => {
  const { log, clock } = deps;
  const machineOf = machineRead(deps);

  return handlers(machineSecrets(deps), machineKeys(deps, settings), machineDelegations(deps), {
    async listMachineCredentials({ userId }, call) {
      const { credentials, clientId } = await machineOf(userId, call);
      return { credentials: credentials.map(machineCredential), ...(clientId === null ? {} : { clientId }) };
    },

    async removeMachineCredential({ userId, credentialId }, call) {
      const { credentials } = await machineOf(userId, call);
      const row = credentials.find(({ id }) => id === credentialId);
      if (!row) throw refuse.notFound("machine_credential", credentialId);
      const removed = removal(row, clock());
      return log.append(call, [removed], { details: detailsAfter(removed.at) });
    },
  } satisfies Partial<ServiceImpl<typeof MachineCredentialService>>);
};

/** A credential of a machine, as the contract shows it. */
export const machineCredential = ({
  jwk,
  expirationDate,
  creatorId,
  lastUsed,
  lastUsedOrigin,
  ...row
}: CredentialRow) => ({
  id: row.id,
  details: details(row),
  userId: row.userId,
  // Ignores unknown members, which a newer node may have written.
  ...(jwk === null ? {} : { publicKey: fromJson(JsonWebKeySchema, jwk, { ignoreUnknownFields: true }) }),
  ...(expirationDate === null ? {} : { expirationDate: timestampFromDate(expirationDate) }),
  accessTokenType: tokenTypeOf(row.accessTokenType),
  ...(creatorId === null ? {} : { creatorId }),
  ...(lastUsed === null ? {} : { lastUsedDate: timestampFromDate(lastUsed) }),
  ...(lastUsedOrigin ? { lastUsedOrigin } : {}),
});

const tokenTypeOf = (name: string): OidcTokenType =>
  name === "OIDC_TOKEN_TYPE_JWT" ? OidcTokenType.JWT : OidcTokenType.BEARER;
