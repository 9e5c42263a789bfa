import type { Sql } from "../postgres/pool/connect.ts";

/** The lease of work that one node does at a time. */
export type Lease = { readonly work: string; readonly holder: string; readonly seconds: number };

/**
 * Takes the lease, or keeps it for longer; false while another node holds it. A lease that lasts more than twice
 * as long was taken before the database's clock was set back, and counts as ended: its holder may be gone. The margin is for
 * holders whose statements overtake each other.
 */
export async function takeLease(sql: Sql, { work, holder, seconds }: Lease): Promise<boolean> {
  const taken = await sql`
    insert into leases (work, holder, until) values (${work}, ${holder}, now() + make_interval(secs => ${seconds}))
    on conflict (work) do update set holder = excluded.holder, until = excluded.until
    where leases.holder = excluded.holder or leases.until < now()
      or leases.until > excluded.until + make_interval(secs => ${seconds})`;
  return taken.count === 1;
}

/** Gives the lease back, so that another node need not wait for its end. */
export async function giveLeaseBack(sql: Sql, { work, holder }: Pick<Lease, "work" | "holder">): Promise<void> {
  await sql`delete from leases where work = ${work} and holder = ${holder}`;
}
