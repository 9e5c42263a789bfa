import type { Sql } from "../postgres/connect.ts";

/** The lease of work that one node does at a time. */
export type Lease = { readonly work: string; readonly holder: string; readonly seconds: number };

/** Takes the lease, or keeps it for longer; false while another node holds it. */
export async function takeLease(sql: Sql, { work, holder, seconds }: Lease): Promise<boolean> {
  const taken = await sql`
    insert into leases (work, holder, until) values (${work}, ${holder}, now() + make_interval(secs => ${seconds}))
    on conflict (work) do update set holder = excluded.holder, until = excluded.until
    where leases.holder = excluded.holder or leases.until < now()`;
  return taken.count === 1;
}
