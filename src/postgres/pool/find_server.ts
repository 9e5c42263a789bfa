import { isRefusedByServer, isTooLate, markUnsent } from "../failure.ts";
import { createLink, type Link, type Server } from "./link.ts";
import type { SessionNeed } from "./servers.ts";
import type { Aside } from "./slow_servers.ts";

/** The servers to try in order, those set aside last, and the state that one has to be in. */
export type Candidates = Readonly<{
  servers: readonly [Server, ...Server[]];
  need: SessionNeed;
  aside?: Aside | undefined;
}>;

/** Called with each connection before it is opened, and with one that has ended. */
export type LinkEvents = Readonly<{ made: (link: Link) => void; ended: (link: Link) => void }>;

/** A connection that is open, with the version of its server as `server_version_num` and the encoding of its database. */
export type Found = Readonly<{ link: Link; version: number; encoding: string }>;

type State = Readonly<{ standby: boolean; readOnly: boolean; version: number; encoding: string }>;

/**
 * Opens a connection to the first reachable server in the needed state; rejects with the most informative failure. Unlike libpq it also
 * continues after the refusal of one server: a standby may have no room while the primary has. The driver's own `target_session_attrs` asks
 * with a statement whose failure nobody catches (`fetchState` of postgres.js 3.4.9).
 */
export async function findServer({ servers, need, aside }: Candidates, events: LinkEvents): Promise<Found> {
  let failure: unknown;
  const late: Server[] = [];
  for (const server of inOrder(servers, aside)) {
    const link = createLink(server, events.ended);
    events.made(link);
    try {
      const state = await stateOf(link);
      if (!fits(state, need)) throw unfit(need);
      aside?.clear(server.url);
      for (const { url } of late) aside?.put(url);
      return { link, version: state.version, encoding: state.encoding };
    } catch (error) {
      if (isTooLate(error)) late.push(server);
      if (failure === undefined || weightOf(error) > weightOf(failure)) failure = error;
      void link.end();
    }
  }
  markUnsent(failure);
  throw failure;
}

function inOrder(servers: readonly Server[], aside: Aside | undefined): readonly Server[] {
  const last = ({ url }: Server) => Number(aside?.has(url) ?? false);
  return servers.toSorted((one, other) => last(one) - last(other));
}

async function stateOf({ sql }: Link): Promise<State> {
  const [state] = await sql<State[]>`
    select pg_is_in_recovery() as standby, current_setting('transaction_read_only')::boolean as "readOnly",
      current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`;
  if (!state) throw new Error("the server does not know its state");
  return state;
}

function fits({ standby, readOnly }: State, need: SessionNeed): boolean {
  switch (need) {
    case "any":
      return true;
    case "primary":
      return !standby;
    case "read-write":
      return !standby && !readOnly;
  }
}

const unfitCode = "NO_FITTING_SERVER";

function unfit(need: SessionNeed): Error {
  const message = `no server that answers is what target_session_attrs=${need} asks for`;
  return Object.assign(new Error(message), { code: unfitCode });
}

// The refusal of one server explains more than the failure to reach another.
function weightOf(error: unknown): number {
  if (isRefusedByServer(error)) return 2;
  return (error as { code?: unknown }).code === unfitCode ? 1 : 0;
}
