import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { JsonWebKey } from "../../../gen/postern/v1/application_pb.ts";
import type { AddMachineKeyRequest, MachineCredentialService } from "../../../gen/postern/v1/machine_credential_pb.ts";
import type { Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { detailsAfter, factOf, first } from "../../events/fact.ts";
import { storedKey } from "../applications/application_key.ts";
import { type IssuerSettings, issuerHere } from "../applications/issuer_here.ts";
import { keyFile, keyGenerator } from "./key_file.ts";
import {
  type CredentialRow,
  confirming,
  identified,
  type Machine,
  machineRead,
  type NewCredential,
  refuseOwn,
  withdrawing,
} from "./machine.ts";

/** The keys with which machines sign assertions. */
export const machineKeys = (deps: Deps, settings: IssuerSettings) => {
  const { log, clock, ids } = deps;
  const machineOf = machineRead(deps);
  const [confirmCovered, remove] = [confirming(deps), withdrawing(deps)];
  const newKey = keyGenerator();

  return {
    async addMachineKey(request, call) {
      const { userId, expirationDate, accessTokenType } = request;
      const machine = await machineOf(userId, call);
      refuseOwn(userId, call);
      if (keysOf(machine).length >= mostKeys) throw full();
      const key = await keyFor(request, call);
      refuseSame(keysOf(machine), key.publicKey);
      const { clientId, assigned } = identified(machine, deps);
      const at = first(machine.owner, ids(), clock());
      const value = { userId, publicKey: key.publicKey, expirationDate, accessTokenType };
      const created = factOf("machineCredential", at, { case: "created", value });
      const file = fileOf(key, { clientId, expirationDate }, call);
      const kid = key.publicKey.kid ?? "";
      const answer = { credentialId: at.stream, details: detailsAfter(at), clientId, kid, ...file };
      await log.append(call, [...assigned, created], answer);
      await confirm({ at, userId }, call);
      return answer;
    },
  } satisfies Partial<ServiceImpl<typeof MachineCredentialService>>;

  async function keyFor({ publicKey }: AddMachineKeyRequest, { signal }: HandlerContext): Promise<Key> {
    return publicKey ? { publicKey: storedKey(publicKey) } : newKey(signal);
  }

  /** Removes a key beyond the maximum; of keys added at once, the one written last sees all. */
  async function confirm(created: NewCredential, call: HandlerContext): Promise<void> {
    await confirmCovered(created, call);
    if (keysOf(await machineOf(created.userId, call)).length <= mostKeys) return;
    await remove(created, call);
    throw full();
  }

  /** The file with a key that we generated. */
  function fileOf({ publicKey, privateKey }: Key, { clientId, expirationDate }: FileOf, call: HandlerContext) {
    if (privateKey === undefined) return {};
    const ends = expirationDate && timestampDate(expirationDate);
    const of = { clientId, keyId: publicKey.kid, privateKey, issuer: issuerHere(settings, call), expirationDate: ends };
    return { keyFile: keyFile(of) };
  }
};

type Key = { readonly publicKey: JsonWebKey; readonly privateKey?: string };
type FileOf = { readonly clientId: string; readonly expirationDate: Timestamp | undefined };

const mostKeys = 20;

const keysOf = ({ credentials }: Machine): readonly CredentialRow[] => credentials.filter(({ jwk }) => jwk !== null);

const full = () => refuse.because("MACHINE_KEY_LIMIT", { params: { limit: String(mostKeys) } });

function refuseSame(keys: readonly CredentialRow[], { kid = "" }: JsonWebKey): void {
  const same = keys.find(({ jwk }) => jwk?.kid === kid);
  if (!same) return;
  const resource = { noun: "machine_credential", id: same.id };
  throw refuse.because("MACHINE_KEY_EXISTS", { params: { name: kid, credentialId: same.id }, resource });
}
