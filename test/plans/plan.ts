import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { createContextValues, type HandlerContext } from "@connectrpc/connect";
import type postgres from "postgres";
import { EvaluateRequestSchema } from "../../gen/postern/v1/authorization_pb.ts";
import { type Deps, keys, newId } from "../../src/deps.ts";
import { planning } from "../../src/postgres/pool/connect.ts";
import { ownFailureRate } from "../../src/security/failure_rate.ts";
import { secretsOf } from "../../src/security/secrets.ts";
import { openClient } from "../fixture/database_client.ts";
import { idOf, role } from "../fixture/seed.ts";
import { uncached } from "../fixture/uncached.ts";

type Client = postgres.Sql<{ bigint: bigint }>;

/** A statement as it was sent, with its parameters as SQL writes them. */
export type SentStatement = { readonly text: string; readonly parameters: readonly string[] };

/** The reads in a statement's plan. */
export type PlanReads = {
  /** The tables that it reads whole. */
  readonly whole: readonly string[];
  /** The indexes that it reads. */
  readonly indexes: readonly string[];
  /** The number of rows that it reads from tables. */
  readonly rows: number;
};

/** Records the statements that some work with the dependencies of a service sends. */
export async function askedBy(
  url: string,
  work: (parts: Omit<Deps, "log">) => Promise<unknown>,
): Promise<SentStatement[]> {
  const sent: SentStatement[] = [];
  await using opened = openClient(url, (text, given) => sent.push({ text, parameters: given.map(literal) }));
  const secrets = secretsOf([randomBytes(32)], cheap);
  const counting = { factCache: uncached, failureRate: ownFailureRate, noteAttempt() {} };
  await work({ sql: opened.client, clock: () => new Date(), ids: newId, secrets, ...counting });
  return sent.filter(({ text }) => !text.includes("pg_catalog"));
}

const cheap = { concurrency: 1, queue: 1, memoryKib: 8, iterations: 1, parallelism: 1 };

function literal(given: unknown): string {
  if (given === null) return "null";
  if (given instanceof Date) return `'${given.toISOString()}'`;
  return `$given$${Array.isArray(given) ? `{${given.map((one) => JSON.stringify(one)).join()}}` : given}$given$`;
}

/** A call of the administrator, who may everything, in an organization. */
export function callIn(organization: string, userId: string): HandlerContext {
  const values = createContextValues()
    .set(keys.caller, { userId, organization, memberships: [] })
    .set(keys.organization, organization);
  return { values, signal: new AbortController().signal, requestHeader: new Headers() } as unknown as HandlerContext;
}

/** A question about a user and a project with a role that the user was granted. */
export function question(n: number) {
  return create(EvaluateRequestSchema, {
    subject: { type: "user", id: idOf("user", n) },
    action: { name: role },
    resource: { type: "project", id: idOf("project", 0) },
  });
}

/** Plans as the service's connections do. */
export async function planAsTheService(client: Client): Promise<void> {
  await client.unsafe(
    Object.entries(planning)
      .map(([name, value]) => `set ${name} = ${value}`)
      .join("; "),
  );
}

/** Runs a statement and returns its reads. */
export async function found(client: Client, { text, parameters }: SentStatement): Promise<PlanReads> {
  await client.unsafe(`prepare asked as ${text}`);
  const given = parameters.length > 0 ? `(${parameters.join(", ")})` : "";
  const [line] = await client.unsafe<{ "QUERY PLAN": [{ Plan: Node }] }[]>(
    `explain (analyze, timing off, format json) execute asked ${given}`,
  );
  await client.unsafe("deallocate asked");
  const nodes = line ? nodesOf(line["QUERY PLAN"][0].Plan) : [];
  const scans = nodes.filter((node) => node["Relation Name"] && node["Relation Name"] !== "instance");
  return {
    whole: scans.filter((node) => node["Node Type"] === "Seq Scan").map((node) => node["Relation Name"] ?? ""),
    indexes: nodes.flatMap((node) => node["Index Name"] ?? []),
    rows: scans.map(rowsOf).reduce((sum, one) => sum + one, 0),
  };
}

type Node = {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly Plans?: readonly Node[];
};

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

function rowsOf(node: Node): number {
  const thrown = (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0);
  return (node["Actual Rows"] + thrown) * node["Actual Loops"];
}
