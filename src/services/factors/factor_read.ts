import type { Versioned } from "../../events/fact.ts";
import { load, loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import type { FactorKindName } from "../policies/factor_kind.ts";

export type FactorRow = Versioned & {
  readonly userId: string;
  readonly kind: FactorKindName;
  readonly name: string;
  readonly isSynced: boolean;
  readonly lastUsed: Date | null;
  /** The number of unused recovery codes. */
  readonly codesLeft: number;
};

export const factorColumns = `f.factor_id as id, f.owner, f.user_id as "userId", f.kind, f.name, f.is_synced as "isSynced",
  f.last_used as "lastUsed", f.version, f.created, f.changed,
  (select count(*) from recovery_codes r where r.factor_id = f.factor_id)::integer as "codesLeft"`;

export const factorsRead = (sql: Sql) =>
  load<{ owner: string; user: string }, FactorRow>(sql, {
    asked: `owner text, "user" text`,
    select: `select n, ${factorColumns}
             from asked join factors f on f.user_id = asked."user" and f.owner = asked.owner order by n, f.factor_id`,
  });

export const factorSecretRead = (sql: Sql) =>
  loadOne<{ user: string; kind: FactorKindName }, FactorSecretRow>(sql, {
    asked: `"user" text, kind text`,
    select: `select n, ${factorColumns}, s.sealed, s.last_step as "lastStep"
             from asked join factors f on f.user_id = asked."user" and f.kind = asked.kind
             join factor_secrets s on s.factor_id = f.factor_id`,
  });

/** A factor with its sealed secret, and the time step of the last code used. */
export type FactorSecretRow = FactorRow & { readonly sealed: Uint8Array; readonly lastStep: bigint | null };

/** The context that a factor's sealed secret is bound to. */
export const secretContext = (factorId: string): string => `factor ${factorId}`;

/** Whether a factor can complete a sign-in by itself; recovery codes only stand in for such a factor. */
export const isFullFactor = ({ kind }: Pick<FactorRow, "kind">): boolean => kind !== "recovery_codes";

/** Whether one of these factors can complete a sign-in by itself, so that every sign-in asks for one. */
export const hasFullFactor = (kinds: readonly FactorKindName[]): boolean =>
  kinds.some((kind) => isFullFactor({ kind }));
