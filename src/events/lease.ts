import type { Fragment, Sql } from "../postgres/pool/connect.ts";

/** A lease on work that only one node may do at a time. */
export type Lease = { readonly work: string; readonly holder: string; readonly seconds: number };

/**
 * Whether a node may take the lease. One with more than twice its duration left was taken before the database's clock was set back, and
 * counts as expired because its holder may be gone. The margin is for statements of a holder that overtake each other.
 */
const isFree = (sql: Sql, { holder, seconds }: Lease): Fragment => sql`
  (leases.holder = ${holder} or leases.until < now() or leases.until > now() + 2 * make_interval(secs => ${seconds}))`;

/** Takes or extends the lease; false while another node holds it. */
export async function takeLease(sql: Sql, lease: Lease): Promise<boolean> {
  const { work, holder, seconds } = lease;
  const taken = await sql`
    insert into leases (work, holder, until) values (${work}, ${holder}, now() + make_interval(secs => ${seconds}))
    on conflict (work) do update set holder = excluded.holder, until = excluded.until where ${isFree(sql, lease)}`;
  return taken.count === 1;
}

/** Whether another node holds the lease. This writes nothing, whereas an attempt to take it locks its row. */
export async function isHeldByAnother(sql: Sql, lease: Lease): Promise<boolean> {
  const rows = await sql`select from leases where work = ${lease.work} and not ${isFree(sql, lease)}`;
  return rows.length > 0;
}

/** Returns the lease, so that another node need not wait for it to expire. */
export async function giveLeaseBack(sql: Sql, { work, holder }: Pick<Lease, "work" | "holder">): Promise<void> {
  await sql`delete from leases where work = ${work} and holder = ${holder}`;
}

/** A lease that a node keeps for several pieces of work. */
export type KeptLease = {
  /** Whether the node has the lease for long enough to do a piece of work that takes much less than its duration. */
  readonly take: () => Promise<boolean>;
  readonly giveBack: () => Promise<void>;
};

/** Keeps a lease. It is extended only when a quarter of it is over, because each time is a commit. */
export function keptLease(sql: Sql, lease: Lease): KeptLease {
  let takenAt: number | undefined;
  // Also if the answer was lost.
  let mayHold = false;
  return {
    async take() {
      const now = performance.now();
      if (takenAt !== undefined && now - takenAt < lease.seconds * 250) return true;
      takenAt = undefined;
      mayHold = true;
      mayHold = await takeLease(sql, lease);
      if (mayHold) takenAt = now;
      return mayHold;
    },
    async giveBack() {
      takenAt = undefined;
      if (!mayHold) return;
      await giveLeaseBack(sql, lease);
      mayHold = false;
    },
  };
}
