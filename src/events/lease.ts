import type { Sql } from "../postgres/pool/connect.ts";

/** A lease on work that one node does at a time. */
export type Lease = { readonly work: string; readonly holder: string; readonly seconds: number };

/**
 * Takes or extends the lease; false while another node holds it. A lease with more than twice its duration left was taken before the
 * database's clock was set back, and counts as expired because its holder may be gone. The margin is for statements of a holder that
 * overtake each other.
 */
export async function takeLease(sql: Sql, { work, holder, seconds }: Lease): Promise<boolean> {
  const taken = await sql`
    insert into leases (work, holder, until) values (${work}, ${holder}, now() + make_interval(secs => ${seconds}))
    on conflict (work) do update set holder = excluded.holder, until = excluded.until
    where leases.holder = excluded.holder or leases.until < now()
      or leases.until > excluded.until + make_interval(secs => ${seconds})`;
  return taken.count === 1;
}

/** Returns the lease, so that another node need not wait for it to expire. */
export async function giveLeaseBack(sql: Sql, { work, holder }: Pick<Lease, "work" | "holder">): Promise<void> {
  await sql`delete from leases where work = ${work} and holder = ${holder}`;
}
