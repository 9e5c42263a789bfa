import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test } from "vitest";
import { errorText, isTextKey, text } from "../src/messages/catalogue.ts";
import { type Reason, reasons } from "../src/reasons.ts";
import { callRows } from "./errors/calls.ts";
import { factorRows } from "./errors/factors.ts";
import { machineRows } from "./errors/machines.ts";
import { failingDomain, nounRows } from "./errors/nouns.ts";
import { germanOf, type Row, type Scene } from "./errors/provocation.ts";
import { troubleRows } from "./errors/troubles.ts";
import { fixtureOf } from "./fixture/organization.ts";
import { type Postern, startPostern } from "./harness.ts";
import { type DnsServer, openDnsServer } from "./services/domains/dns_server.ts";

// A reason that code could not answer would have no row that passes; the compiler refuses one without a row.
const rows: Readonly<Record<Reason, Row>> = {
  ...callRows,
  ...factorRows,
  ...machineRows,
  ...nounRows,
  ...troubleRows,
} satisfies Record<Reason, Row>;

// The HTTP status of google.rpc, written down again: the test must not learn it from what it tests.
const statusOf: Readonly<Partial<Record<Code, number>>> = {
  ...{ [Code.InvalidArgument]: 400, [Code.FailedPrecondition]: 400, [Code.Unauthenticated]: 401 },
  ...{ [Code.PermissionDenied]: 403, [Code.NotFound]: 404, [Code.AlreadyExists]: 409, [Code.Aborted]: 409 },
  ...{ [Code.ResourceExhausted]: 429, [Code.Internal]: 500, [Code.Unimplemented]: 501, [Code.Unavailable]: 503 },
  ...{ [Code.DeadlineExceeded]: 504, [Code.Unknown]: 500 },
};

let postern: Postern;
let scene: Scene;
let dns: DnsServer;

beforeAll(async () => {
  dns = await openDnsServer();
  dns.zone.set(`_postern-challenge.${failingDomain}`, "failed");
  postern = await startPostern({ domainNameServers: [dns.address] });
  const fixture = await fixtureOf(postern, postern.organizationId);
  const germanAs = (token?: string) => germanOf(postern.as(token));
  scene = { postern, fixture, admin: postern.admin, german: germanOf(postern.admin), germanAs };
});
afterAll(async () => {
  await postern?.[Symbol.asyncDispose]();
  await dns?.[Symbol.asyncDispose]();
});

test("every reason of the list has a row that provokes it, and nothing else has", () => {
  expect(Object.keys(rows).sort()).toEqual(Object.keys(reasons).sort());
});

test.each(Object.entries(rows).map(([reason, row]) => ({ reason: reason as Reason, row })))(
  "$reason",
  async ({ reason, row: { by, details = [], status, logged } }) => {
    const seen = await by(scene);
    if (logged) return expect(seen.body).toMatchObject({ reason });
    const code: Code = reasons[reason];
    expect(seen).toMatchObject({ status: status ?? statusOf[code], body: { code } });
    const { message, details: sent } = seen.body as { message: string; details: Record<string, unknown>[] };
    const [info, ...others] = sent;
    expect(info).toMatchObject({ "@type": typed("ErrorInfo"), reason, domain: "postern" });
    expect(others.map((one) => one["@type"])).toEqual([...details, "LocalizedMessage"].map(typed));
    const params = (info?.metadata ?? {}) as Record<string, string>;
    const key = params.problem !== undefined && isTextKey(params.problem) ? params.problem : reason;
    expect(message).toBe(errorText(key, params));
    expect(others.at(-1)).toMatchObject({ locale: "de", message: text(key, "de", params) });
    expect(`${message}${others.at(-1)?.message}`).not.toMatch(/[{}…]/);
  },
);

const typed = (name: string) => `type.googleapis.com/google.rpc.${name}`;
