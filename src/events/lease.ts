import type { Sql } from "../postgres/connect.ts";

/** A turn at work that one node does at a time. */
export type Turn = { readonly work: string; readonly holder: string; readonly seconds: number };

/** Takes the turn, or keeps it for longer; false while somebody else has it. */
export async function takeTurn(sql: Sql, { work, holder, seconds }: Turn): Promise<boolean> {
  const taken = await sql`
    insert into leases (work, holder, until) values (${work}, ${holder}, now() + make_interval(secs => ${seconds}))
    on conflict (work) do update set holder = excluded.holder, until = excluded.until
    where leases.holder = excluded.holder or leases.until < now()`;
  return taken.count === 1;
}
