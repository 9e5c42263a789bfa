import type { Deps } from "../../deps.ts";
import type { Chore } from "../../events/sweep.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import type { Keyring } from "../../security/seal.ts";
import { newWebhookSecret, shownWebhookSecret, subscriptionSecretContext } from "../../security/webhook_secret.ts";

/** Generates a subscription's secret: the text that is shown once, and its sealed form for the database. */
export function newSecret(keyring: Keyring, subscriptionId: string) {
  const secret = newWebhookSecret();
  const sealed = keyring.seal(secret, subscriptionSecretContext(subscriptionId));
  return { shown: shownWebhookSecret(secret), sealed: Buffer.from(sealed).toString("hex") };
}

/** Re-seals the secrets of subscriptions under the current master key: they would be lost with an old one. */
export const resealedSubscriptions = ({ sql, secrets }: Pick<Deps, "sql" | "secrets">): Chore => ({
  name: "subscriptions sealed under an earlier master key",
  async batch(most) {
    const { keyring } = secrets;
    if (keyring.earlier.length === 0) return 0;
    const rows = await sealedEarlier(sql, keyring.earlier, most);
    for (const { id, sealed, previous } of rows) {
      const again = (bytes: Uint8Array) => Buffer.from(resealed(keyring, id, bytes));
      await sql`
        update subscription_secrets set sealed = ${again(sealed)}, previous = ${previous && again(previous)}
        where subscription_id = ${id} and sealed = ${sealed}`;
    }
    return rows.length;
  },
});

function resealed(keyring: Keyring, id: string, sealed: Uint8Array): Uint8Array {
  const context = subscriptionSecretContext(id);
  return keyring.isCurrent(sealed) ? sealed : keyring.seal(keyring.open(sealed, context), context);
}

type Sealed = { readonly id: string; readonly sealed: Buffer; readonly previous: Buffer | null };

const sealedEarlier = (sql: Sql, heads: readonly Buffer[], most: number) => {
  const earlier = sql`string_to_array(${heads.map((head) => head.toString("hex")).join()}, ',')`;
  return sql<Sealed[]>`
    select subscription_id as id, sealed, previous from subscription_secrets
    where encode(substring(sealed from 1 for 5), 'hex') = any(${earlier})
      or encode(substring(previous from 1 for 5), 'hex') = any(${earlier}) limit ${most}`;
};
