import { isRefusedByServer, markUnsent } from "./failure.ts";
import { createLink, type Link, type Server } from "./link.ts";
import type { SessionNeed } from "./servers.ts";

/** The servers to try in order, and what one has to be. */
export type Candidates = Readonly<{ servers: readonly [Server, ...Server[]]; need: SessionNeed }>;

/** Called with each connection before it is opened, and with one that has ended. */
export type LinkEvents = Readonly<{ made: (link: Link) => void; ended: (link: Link) => void }>;

/** A connection that is open, and the version of its server as `server_version_num`. */
export type Found = Readonly<{ link: Link; version: number }>;

type State = Readonly<{ standby: boolean; readOnly: boolean; version: number }>;

/**
 * Opens a connection to the first server that can be reached and is what is needed; rejects with the failure that tells most.
 * Unlike libpq it goes on after the refusal of one server too: a standby may have no room while the primary has. The driver's
 * own `target_session_attrs` asks by a statement whose failure nobody catches (`fetchState` of postgres.js 3.4.9).
 */
export async function findServer({ servers, need }: Candidates, events: LinkEvents): Promise<Found> {
  let failure: unknown;
  for (const server of servers) {
    const link = createLink(server, events.ended);
    events.made(link);
    try {
      const state = await stateOf(link);
      if (fits(state, need)) return { link, version: state.version };
      throw unfit(need);
    } catch (error) {
      if (failure === undefined || weightOf(error) > weightOf(failure)) failure = error;
      void link.end();
    }
  }
  markUnsent(failure);
  throw failure;
}

async function stateOf({ sql }: Link): Promise<State> {
  const [state] = await sql<State[]>`
    select pg_is_in_recovery() as standby, current_setting('transaction_read_only')::boolean as "readOnly",
      current_setting('server_version_num')::int as version`;
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
