import type { Deps } from "../../deps.ts";
import type { Chore } from "../../events/sweep.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import type { Keyring } from "../../security/seal.ts";
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

// A node that does not have the new key yet may seal under the earlier one, so they are looked through again.
const lookAgainMs = 3_600_000;

/**
 * Re-seals factor secrets under the current master key. They last for years, and would be lost with an old key that is removed from the
 * list after a rotation. Each batch looks at the next ones in the order of their keys, and tells how many it looked at.
 */
export function resealedFactors({ sql, secrets: { keyring } }: Pick<Deps, "sql" | "secrets">): Chore {
  let after = "";
  let nextAt = 0;
  return {
    name: "factors sealed under an earlier master key",
    async batch(most) {
      if (keyring.earlier.length === 0 || performance.now() < nextAt) return 0;
      const rows = await sql<Sealed[]>`
        select factor_id as id, sealed from factor_secrets where factor_id > ${after} order by factor_id limit ${most}`;
      const earlier = rows.filter(({ sealed }) => keyring.earlier.some((head) => sealed.indexOf(head) === 0));
      if (earlier.length > 0)
        await replaceSealed(
          sql,
          earlier.map((one) => resealed(keyring, one)),
        );
      const isEnd = rows.length < most;
      after = isEnd ? "" : (rows.at(-1)?.id ?? "");
      if (isEnd) nextAt = performance.now() + lookAgainMs;
      return rows.length;
    },
  };
}

type Sealed = { readonly id: string; readonly sealed: Buffer };

type Resealed = Readonly<Record<"id" | "before" | "sealed", string>>;

function resealed(keyring: Keyring, { id, sealed }: Sealed): Resealed {
  const again = keyring.seal(keyring.open(sealed, secretContext(id)), secretContext(id));
  return { id, before: hex(sealed), sealed: hex(again) };
}

const replaceSealed = (sql: Sql, rows: readonly Resealed[]) => sql`
  update factor_secrets f set sealed = decode(again.sealed, 'hex')
  from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as again (id text, before text, sealed text)
  where f.factor_id = again.id and f.sealed = decode(again.before, 'hex')`;

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
