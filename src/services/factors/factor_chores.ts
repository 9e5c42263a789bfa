import type { Deps } from "../../deps.ts";
import type { Chore } from "../../events/sweep.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { secretContext } from "./factor_read.ts";

// A challenge that has expired by one node's clock may still be valid by another's, so it stays marked as used for this long.
const marginSeconds = 60;

/** Deletes abandoned enrolments, and challenges that can no longer be presented. */
export const factorChores = ({ sql, clock }: Pick<Deps, "sql" | "clock">): readonly Chore[] => {
  const before = () => new Date(clock().getTime() - marginSeconds * 1000);
  return [
    { name: "expired enrolments", batch: async (most) => (await deleteEnrolments(sql, before(), most)).count },
    { name: "spent challenges", batch: async (most) => (await deleteSpent(sql, before(), most)).count },
  ];
};

const deleteEnrolments = (sql: Sql, until: Date, most: number) => sql`
  delete from factor_enrolments where (user_id, kind) in (
    select user_id, kind from factor_enrolments where expiration_date <= ${until}
    order by expiration_date limit ${most} for update skip locked)`;

const deleteSpent = (sql: Sql, until: Date, most: number) => sql`
  delete from spent_challenges where challenge in (
    select challenge from spent_challenges where expiration_date <= ${until}
    order by expiration_date limit ${most} for update skip locked)`;

/**
 * Re-seals factor secrets under the current master key. They last for years, and would be lost with an old key that is removed from the
 * list after a rotation.
 */
export const resealedFactors = ({ sql, secrets }: Pick<Deps, "sql" | "secrets">): Chore => ({
  name: "factors sealed under an earlier master key",
  async batch(most) {
    const { keyring } = secrets;
    if (keyring.earlier.length === 0) return 0;
    const rows = await sealedEarlier(sql, keyring.earlier, most);
    for (const { id, sealed } of rows) {
      const again = Buffer.from(keyring.seal(keyring.open(sealed, secretContext(id)), secretContext(id)));
      await sql`update factor_secrets set sealed = ${again} where factor_id = ${id} and sealed = ${sealed}`;
    }
    return rows.length;
  },
});

type Sealed = { readonly id: string; readonly sealed: Buffer };

const sealedEarlier = (sql: Sql, heads: readonly Buffer[], most: number) => sql<Sealed[]>`
  select factor_id as id, sealed from factor_secrets
  where encode(substring(sealed from 1 for 5), 'hex') = any(string_to_array(${heads.map(hex).join()}, ',')) limit ${most}`;

const hex = (bytes: Buffer): string => bytes.toString("hex");
