import { isAbsolute } from "node:path";
import type { Config } from "../config/config.ts";
import { localAddress } from "../config/local_address.ts";
import { firstLink } from "../maintenance/administrator_link.ts";
import { howToBegin } from "../maintenance/first_calls.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** The start to describe. */
export type Start = {
  /** Whether it created the first organization. */
  readonly isFirst: boolean;
  readonly url: string;
  readonly operationsUrl: string | undefined;
};

/** The lines printed after a start: what was created, where everything is, how to stop, and on the first start, the first calls to make. */
export async function welcomeTo(runtime: Runtime, config: Config, start: Start): Promise<readonly string[]> {
  // The port comes from the URL, because PORT=0 picks a free one.
  const port = portOf(start.url);
  const address = await localAddress({ ...config, port });
  const summary = summaryOf(config, start, address.url);
  if (!start.isFirst) return ["", ...summary, ""];
  const [calls, link] = [await howToBegin(runtime, config, address), await firstLink(runtime, { ...config, port })];
  const where = isAbsolute(config.dataDir) || config.adminToken ? "" : ", opened in this folder";
  const blocks = calls.flatMap((call) => ["", call]);
  return [
    "",
    ...summary,
    ...(link === undefined ? [] : linkLines(link)),
    "",
    `Calls to try; paste them into another shell${where}:`,
    ...blocks,
    "",
  ];
}

/** Terminals and people copy a line of its own best. */
const linkLines = (link: string): readonly string[] => [
  "",
  "Open this link within ten minutes, in a browser on this machine, to choose the administrator's password:",
  "",
  link,
];

const portOf = (url: string): number => Number(new URL(url).port) || (url.startsWith("https:") ? 443 : 80);

function summaryOf(config: Config, { isFirst, operationsUrl }: Start, url: string): readonly string[] {
  const docs = docsUrl(config, url, operationsUrl);
  const rows = [
    ["Ready", `Postern is serving at ${url}`],
    ...(config.publicUrl
      ? [["Public", `${config.publicUrl} is where people sign in and where links in mails lead`]]
      : []),
    ...(isFirst ? [["New", "an organization, the administrator admin, and a sample project with two roles"]] : []),
    ["Data", dataOf(config, isFirst)],
    ...(docs ? [["Docs", `${docs} describes every operation`]] : []),
    ...(isFirst ? [["Again", "`postern bootstrap` prints the calls below again, if they still work"]] : []),
    ["Stop", config.databaseUrl ? "Ctrl-C" : "Ctrl-C; the next start continues with the same data"],
  ];
  return rows.map(([name = "", text = ""]) => `${name.padEnd(6)} ${text}`);
}

function dataOf({ databaseUrl, dataDir, adminToken }: Config, isFirst: boolean): string {
  const secrets = [...(adminToken ? [] : ["admin-token"]), "admin-password"].join(" and ");
  const held = databaseUrl ? secrets : `the database, the master key, ${secrets}`;
  if (isFirst) return `${dataDir} contains ${held}; keep them secret`;
  return databaseUrl ? "in the database of DATABASE_URL" : `${dataDir} contains the database and the master key`;
}

function docsUrl({ portServes }: Config, url: string, operationsUrl: string | undefined): string | undefined {
  if (portServes.includes("docs")) return `${url}/docs`;
  return operationsUrl && `${operationsUrl}/docs`;
}
