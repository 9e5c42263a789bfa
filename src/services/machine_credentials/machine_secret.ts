import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { MachineCredentialService } from "../../../gen/postern/v1/machine_credential_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { detailsAfter, factOf, first, type NewFact, next } from "../../events/fact.ts";
import { after, newSecret } from "../applications/application.ts";
import { endAnyway } from "../writing/end_anyway.ts";
import {
  type CredentialRow,
  confirming,
  credentialsOf,
  identified,
  machineRead,
  refuseOwn,
  removal,
} from "./machine.ts";

/** The client secrets of machines. */
export const machineSecrets = (deps: Deps) => {
  const { log, sql, clock, ids } = deps;
  const machineOf = machineRead(deps);
  const confirm = confirming(deps);

  return {
    async createMachineSecret({ userId, overlap, accessTokenType }, call) {
      const machine = await machineOf(userId, call);
      refuseOwn(userId, call);
      const { clientId, assigned } = identified(machine, deps);
      const at = first(machine.owner, ids(), clock());
      const ends = after(at.time, overlap);
      const { clientSecret, secret } = newSecret();
      const created = { case: "created", value: { userId, accessTokenType } } as const;
      const replaced = machine.credentials.filter(isSecret).map((one) => replacement(one, { time: at.time, ends }));
      const until = replaced.length === 0 ? {} : { previousSecretExpirationDate: timestampFromDate(ends) };
      const answer = { credentialId: at.stream, details: detailsAfter(at), clientId, clientSecret, ...until };
      await log.append(call, [...assigned, factOf("machineCredential", at, created, secret), ...replaced], answer);
      await confirm({ at, userId }, call);
      await replaceOlder(userId, { time: at.time, ends }, call);
      return answer;
    },
  } satisfies Partial<ServiceImpl<typeof MachineCredentialService>>;

  /** Replaces all secrets but the newest: those created at once did not replace each other, and the one written last sees all. */
  function replaceOlder(userId: string, overlap: Overlap, call: Call): Promise<void> {
    return endAnyway(log, call, async () => {
      const credentials: readonly CredentialRow[] = await credentialsOf(sql, userId);
      const lasting = credentials.filter((row) => isSecret(row) && row.expirationDate === null);
      return lasting.slice(0, -1).map((row) => replacement(row, overlap));
    });
  }
};

const isSecret = ({ jwk }: CredentialRow): boolean => jwk === null;

type Overlap = { readonly time: Date; readonly ends: Date };

/** The effect of a new secret on an earlier one: it lasts for the overlap, unless it was already replaced. */
function replacement(row: CredentialRow, { time, ends }: Overlap): NewFact {
  if (row.expirationDate !== null || ends <= time) return removal(row, time);
  const value = { userId: row.userId, expirationDate: timestampFromDate(ends) };
  return factOf("machineCredential", next(row, time), { case: "replaced", value });
}
