import type { JsonObject } from "@bufbuild/protobuf";
import { decodeProtectedHeader, type JWK } from "jose";
import { type Deps, keys } from "../../deps.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { sameBytes } from "../../security/compare.ts";
import { hashToken } from "../../security/token.ts";
import { userInForce } from "../../services/callers/in_force.ts";
import { ClientRefused } from "../http/oauth_error.ts";
import { noteClient } from "../pages/request_notes.ts";
import { type Asserted, type AssertionNeeds, acceptedAssertions } from "./assertion.ts";
import type { ClientClaim } from "./client_authentication.ts";
import { isCacheable, machinesEndedBy, mostCached } from "./machine_facts.ts";

/** A machine as the provider knows it, with its unexpired credentials. */
export type MachineClient = {
  readonly userId: string;
  readonly owner: string;
  readonly clientId: string;
  readonly credentials: readonly MachineCredential[];
};

/** A client secret, by its SHA-256 in hexadecimal, or a key of a machine. */
export type MachineCredential = {
  readonly id: string;
  readonly hash: string | null;
  readonly jwk: JsonObject | null;
  readonly isJwt: boolean;
  /** In milliseconds since 1970; null if it never expires. */
  readonly expires: number | null;
  /** The time of its latest recorded use, in milliseconds since 1970; null if there was none. */
  readonly lastUsed: number | null;
};

// Without the limits here and below, a plan made while there were two machines would read every machine added later.
const credentials = `coalesce((
      select json_agg(json_build_object('id', m.credential_id, 'hash', encode(k.hash, 'hex'), 'jwk', m.jwk,
        'isJwt', m.access_token_type = 'OIDC_TOKEN_TYPE_JWT', 'expires', floor(extract(epoch from m.expiration_date) * 1000),
        'lastUsed', floor(extract(epoch from k.last_used) * 1000))
        order by m.credential_id)
      from machine_credentials m cross join lateral (select * from machine_proofs p where p.credential_id = m.credential_id limit 1) k
      where m.user_id = u.user_id and coalesce(m.expiration_date, 'infinity') > asked.now), '[]')`;

/** Makes the read of an active machine by its client id. */
export function machineClientRead(sql: Sql) {
  const read = loadOne<{ client_id: string; now: string }, MachineClient>(sql, {
    asked: "client_id text, now timestamptz",
    select: `select n, u.user_id as "userId", u.owner, c.client_id as "clientId", ${credentials} as credentials
      from asked cross join lateral (select * from machine_client_ids i where i.client_id = asked.client_id limit 1) c
      cross join lateral (select * from users where users.user_id = c.user_id limit 1) u where ${userInForce}`,
  });
  return (clientId: string, now: Date) => read({ client_id: clientId, now: now.toISOString() });
}

/**
 * Makes the same read for machines that authenticate, cached for seconds until a fact changes the result: backends ask for a token before
 * each of their calls. A secret that a cached machine does not have may be new, so the machine is read again. One that it has is not
 * compared again: the machine comes with the credential that it proved.
 */
export function recentMachines({ sql, clock, factCache }: Pick<Deps, "sql" | "clock" | "factCache">) {
  const read = machineClientRead(sql);
  const idsOf = ({ userId, owner }: MachineClient) => [userId, owner];
  const recent = factCache<MachineClient>({ endedBy: machinesEndedBy, idsOf, endOf, most: mostCached });

  return (proof: ClientClaim["proof"]): Promise<FoundMachine | undefined> => {
    const { clientId } = proof;
    // A caller that has not proven its identity takes no place in the cache.
    if (!("secret" in proof)) return read(clientId, clock());
    const known = recent.cached(clientId);
    const proven = known && withSecret(known, proof.secret);
    if (proven) return Promise.resolve(proven);
    return recent.look(clientId, () => read(clientId, clock()));
  };
}

const endOf = (machine: MachineClient): number =>
  isCacheable(machine) ? Math.min(...machine.credentials.map(({ expires }) => expires ?? Number.POSITIVE_INFINITY)) : 0;

/** A machine with the credential that it proved. */
export type ProvenMachine = { readonly machine: MachineClient; readonly credential: MachineCredential };

/** The machine that a claim names; with a credential, if it has proven that it is this machine. */
export type FoundMachine = MachineClient | ProvenMachine;

/** A machine with a key of its own that signed an assertion. */
export type AssertedMachine = ProvenMachine & Asserted;

/** Makes the authentication of machines, by any of their credentials. */
export function machineAuthentication(deps: Pick<Deps, "sql" | "clock">, issuer: () => string) {
  const accepted = acceptedAssertions(deps, issuer);

  return {
    async byClaim(found: FoundMachine | undefined, { proof, call }: ClientClaim): Promise<ProvenMachine> {
      const proven = found && ("credential" in found ? found : await provenBy(found, proof));
      if (!proven) throw new ClientRefused();
      return noted(proven, call);
    },

    /** Finds the key that signed an assertion; undefined if the assertion is not accepted. */
    async byAssertion(
      machine: MachineClient,
      assertion: string,
      of: AssertionOf,
    ): Promise<AssertedMachine | undefined> {
      const found = await asserted(machine, assertion, of.needs);
      return found && noted(found, of.call);
    },
  };

  async function provenBy(machine: MachineClient, proof: ClientClaim["proof"]): Promise<ProvenMachine | undefined> {
    switch (proof.method) {
      case "none":
        return undefined;
      case "basic":
      case "post":
        return withSecret(machine, proof.secret);
      case "assertion":
        return asserted(machine, proof.assertion, "a jti");
    }
  }

  async function asserted(machine: MachineClient, assertion: string, needs: AssertionNeeds) {
    const credential = keyNamed(machine, assertion);
    if (!credential) return undefined;
    const { clientId } = machine;
    const keysOf = async () => [credential.jwk as unknown as JWK];
    const found = await accepted({ by: clientId, clientId, keysOf }, assertion, needs);
    return found && { ...found, machine, credential };
  }
}

type AssertionOf = { readonly needs: AssertionNeeds; readonly call: ClientClaim["call"] };

function noted<P extends ProvenMachine>(proven: P, call: ClientClaim["call"]): P {
  noteClient(call.values, proven.machine);
  call.values.set(keys.clientOwner, proven.machine.owner);
  return proven;
}

function withSecret(machine: MachineClient, secret: string): ProvenMachine | undefined {
  const hash = hashToken(secret);
  const [credential] = machine.credentials.filter((one) => one.hash && sameBytes(Buffer.from(one.hash, "hex"), hash));
  return credential && { machine, credential };
}

/** The key that an assertion names, or the machine's only one. */
function keyNamed({ credentials: all }: MachineClient, assertion: string): MachineCredential | undefined {
  const kid = kidOf(assertion);
  const [key, ...others] = all.filter(({ jwk }) => jwk !== null && (kid === undefined || jwk.kid === kid));
  return others.length > 0 ? undefined : key;
}

function kidOf(assertion: string): string | undefined {
  try {
    return decodeProtectedHeader(assertion).kid;
  } catch {
    return undefined;
  }
}
