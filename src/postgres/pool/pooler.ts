import { isProtocolRefusal } from "../failure.ts";
import type { ProcessLog } from "../process_log.ts";
import { startErrorOf } from "../start_error.ts";
import { candidatesOf, type Pooler, planning } from "./connect.ts";
import { findServer } from "./find_server.ts";
import type { Link } from "./link.ts";

type Answer = Readonly<{ timeout: string; hasSettings: boolean; names: readonly string[] | null }>;

// A value that no server has by default.
const mark = 86_399_871;
const connectMs = 10_000;

/**
 * Detects a pooler in front of the database that would mix sessions up. PgBouncer refuses settings in the startup message (08P01), or
 * ignores them if `ignore_startup_parameters` says so; in both cases they are not in effect afterwards.
 */
export async function findPooler(url: string, log: ProcessLog): Promise<Pooler | undefined> {
  const settings = { statement_timeout: mark, ...planning };
  try {
    const { answer } = await ask({ url, log, connection: settings });
    if (answer.timeout === String(mark)) return undefined;
  } catch (error) {
    if (!isProtocolRefusal(error)) throw startErrorOf(error);
  }
  const { answer, name } = await ask({ url, log, connection: {} }).catch((error: unknown) => {
    throw startErrorOf(error);
  });
  // A pooler that keeps statements apart renames each on the server.
  const prepares = !answer.names?.includes(name);
  announce(log, { prepares, plans: answer.hasSettings });
  return { prepares };
}

type Question = Readonly<{ url: string; log: ProcessLog; connection: Readonly<Record<string, string | number>> }>;

async function ask({ url, log, connection }: Question): Promise<{ answer: Answer; name: string }> {
  const links: Link[] = [];
  const events = { made: (link: Link) => void links.push(link), ended() {} };
  try {
    const candidates = candidatesOf({
      url,
      log,
      connectMs,
      connection: { application_name: "postern", ...connection },
    });
    const { link } = await findServer(candidates, events);
    const rows = await link.sql<Answer[]>`
      select (select setting from pg_settings where name = 'statement_timeout') as timeout,
        (select bool_and(current_setting(key) = value) from jsonb_each_text(${JSON.stringify(planning)}::text::jsonb)) as "hasSettings",
        (select array_agg(name) from pg_prepared_statements) as names`;
    const [answer] = rows;
    if (!answer) throw new Error("the server does not know its settings");
    return { answer, name: rows.statement.name };
  } finally {
    await Promise.all(links.map((link) => link.end()));
  }
}

const wanted = Object.entries(planning)
  .map(([name, value]) => `${name} = ${value}`)
  .join(", ");

function announce(log: ProcessLog, pooler: Readonly<{ prepares: boolean; plans: boolean }>): void {
  log.info(
    pooler,
    "there is a connection pooler in front of the database: cancel requests will end statements that run too long",
  );
  // A plan that was made while a table was small stays with its prepared statement.
  if (pooler.prepares && !pooler.plans)
    log.warn({}, `the pooler drops settings: run \`alter role … set\` for each of ${wanted}`);
}
