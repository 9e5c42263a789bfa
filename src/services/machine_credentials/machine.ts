import type { JsonObject } from "@bufbuild/protobuf";
import { type Call, callerOf, type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { type At, factOf, type NewFact, next, type Versioned } from "../../events/fact.ts";
import { load } from "../../events/load.ts";
import type { Origin } from "../../events/log.ts";
import type { Fragment, Sql } from "../../postgres/pool/connect.ts";
import { gainedMeanwhile, gainedRead } from "../members/ended_by_role.ts";
import { withdraw } from "../writing/end_anyway.ts";

/** A client secret or key of a machine. */
export type CredentialRow = Versioned & {
  readonly userId: string;
  /** The public key; null for a client secret. */
  readonly jwk: JsonObject | null;
  readonly accessTokenType: string;
  readonly expirationDate: Date | null;
  readonly creatorId: string | null;
  readonly lastUsed: Date | null;
  readonly lastUsedOrigin: Origin | null;
};

/** A machine with its credentials, the oldest first; the client id is null until it has its first credential. */
export type Machine = Versioned & {
  readonly clientId: string | null;
  readonly credentials: readonly CredentialRow[];
};

type OfUser = {
  readonly kind: string;
  readonly userOwner: string;
  readonly userVersion: bigint;
  readonly userCreated: Date;
  readonly userChanged: Date;
  readonly clientId: string | null;
};
type Row = OfUser & (CredentialRow | { readonly id: null });

/** The columns of a credential `m` with its proof `p`. */
const credentialColumns = `m.credential_id as id, m.owner, m.user_id as "userId", m.jwk,
      m.access_token_type as "accessTokenType", m.expiration_date as "expirationDate", m.creator_id as "creatorId", m.version,
      m.created, m.changed, p.last_used as "lastUsed", p.last_used_origin as "lastUsedOrigin"`;

/** The credentials of a machine, the oldest first. */
export const credentialsOf = (sql: Sql, userId: string): Fragment => sql`
  select ${sql.unsafe(credentialColumns)} from machine_credentials m
  left join machine_proofs p on p.credential_id = m.credential_id
  where m.user_id = ${userId} order by m.credential_id`;

/** Makes the read of a machine with its credentials; fails for users who are not machines. */
export function machineRead({ sql }: Pick<Deps, "sql">) {
  const rowsOf = load<{ owner: string; id: string }, Row>(sql, {
    asked: "owner text, id text",
    select: `select n, u.kind, u.owner as "userOwner", u.version as "userVersion", u.created as "userCreated",
      u.changed as "userChanged", c.client_id as "clientId", ${credentialColumns}
      from asked join users u on u.owner = asked.owner and u.user_id = asked.id
      left join machine_client_ids c on c.user_id = u.user_id
      left join machine_credentials m on m.user_id = u.user_id
      left join machine_proofs p on p.credential_id = m.credential_id
      order by n, m.credential_id`,
  });
  return async (userId: string, call: Call): Promise<Machine> => {
    const rows = await rowsOf({ owner: organizationOf(call), id: userId }, call.signal);
    const [user] = rows;
    if (!user) throw refuse.notFound("user", userId);
    if (user.kind !== "machine") throw refuse.because("USER_NOT_MACHINE", { params: { id: userId } });
    const { userOwner: owner, userVersion: version, userCreated: created, userChanged: changed, clientId } = user;
    const credentials = rows.flatMap((row) => (row.id === null ? [] : [row]));
    return { id: userId, owner, version, created, changed, clientId, credentials };
  };
}

/**
 * Fails for a machine that would create a credential for itself: with a token that ends, it could get tokens forever, and nobody would be
 * responsible for them.
 */
export function refuseOwn(userId: string, call: Call): void {
  if (callerOf(call).userId === userId) throw refuse.because("OWN_MACHINE_CREDENTIAL");
}

/** The client id of a machine, and the fact that gives it one if it has none yet. */
export function identified(machine: Machine, { ids, clock }: Pick<Deps, "ids" | "clock">): Identified {
  if (machine.clientId !== null) return { clientId: machine.clientId, assigned: [] };
  const clientId = ids();
  const value = { clientId };
  return { clientId, assigned: [factOf("user", next(machine, clock()), { case: "clientIdAssigned", value })] };
}

type Identified = { readonly clientId: string; readonly assigned: readonly NewFact[] };

/** The fact that a credential is removed. */
export const removal = (row: CredentialRow, time: Date): NewFact =>
  factOf("machineCredential", next(row, time), { case: "removed", value: { userId: row.userId } });

/** Makes the step that removes the new credential of a call that fails; what the call lost its race to may have removed it already. */
export const withdrawing =
  ({ log, sql, clock }: Pick<Deps, "log" | "sql" | "clock">) =>
  ({ at, userId }: NewCredential, call: Call) =>
    withdraw({ log, sql }, call, async () => {
      const rows: readonly CredentialRow[] = await credentialsOf(sql, userId);
      return rows.filter(({ id }) => id === at.stream).map((row) => removal(row, clock()));
    });

/**
 * Makes the last step of calls that create credentials: if the machine was given more roles meanwhile than the caller covers, removes the
 * new credential and fails the call.
 */
export function confirming(deps: Pick<Deps, "log" | "sql" | "clock">) {
  const gained = gainedRead(deps.sql);
  const remove = withdrawing(deps);
  return async (created: NewCredential, call: Call): Promise<void> => {
    const permission = await gained(created.userId, call);
    if (permission === undefined) return;
    await remove(created, call);
    throw gainedMeanwhile(permission);
  };
}

/** A credential that was created, and its machine. */
export type NewCredential = { readonly at: At; readonly userId: string };
