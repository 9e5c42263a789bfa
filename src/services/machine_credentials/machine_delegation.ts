import type { ServiceImpl } from "@connectrpc/connect";
import type { ApiResource } from "../../../gen/postern/v1/application_pb.ts";
import {
  type MachineCredentialService,
  type SetMachineDelegationRequest,
  SetMachineDelegationRequestSchema,
} from "../../../gen/postern/v1/machine_credential_pb.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { details, detailsAfter, factOf, next } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { lateRule } from "../../rules.ts";
import { hrefOf } from "../callers/resource_in_force.ts";
import { refuseOvertaken } from "../reading/update_mask.ts";
import { machineRead } from "./machine.ts";

/** The APIs for which machines accept tokens of users, and for which they may exchange them. */
export const machineDelegations = (deps: Deps) => {
  const { log, sql, clock } = deps;
  const machineOf = machineRead(deps);
  const [judged, delegationOf] = [resourcesJudged(sql), delegationRead(sql)];

  return {
    async setMachineDelegation(request, call) {
      const { userId, expectedSequence } = request;
      const machine = await machineOf(userId, call);
      refuseOvertaken(machine, expectedSequence);
      if (callerOf(call).userId === userId) throw refuse.because("OWN_MACHINE_DELEGATION");
      const { violations, servedResources, targetResources } = await judged(request, call);
      if (violations.length > 0) throw refuse.invalid(violations);
      const value = { servedResources, targetResources };
      const set = factOf("user", next(machine, clock()), { case: "delegationSet", value });
      return log.append(call, [set], { details: detailsAfter(set.at) });
    },

    async getMachineDelegation({ userId }, call) {
      const machine = await machineOf(userId, call);
      const lists = await delegationOf({ id: userId }, call.signal);
      return { ...lists, details: details(machine) };
    },
  } satisfies Partial<ServiceImpl<typeof MachineCredentialService>>;
};

export const machineDelegationLateRules = ({ sql }: Pick<Deps, "sql">) => {
  const judged = resourcesJudged(sql);
  const lists = ["servedResources", "targetResources"];
  return [
    lateRule(
      SetMachineDelegationRequestSchema,
      lists,
      async (request, call: Call) => (await judged(request, call)).violations,
    ),
  ];
};

type Resources = Pick<ApiResource, "appId" | "uri">[];
type Lists = { readonly servedResources: Resources; readonly targetResources: Resources };
type Judged = Lists & { readonly violations: readonly Violation[] };

/** Makes the function that finds the APIs of the organization by the URIs of a request, with a violation for each unknown URI. */
function resourcesJudged(sql: Sql) {
  const read = loadOne<
    { owner: string; hrefs: readonly string[] },
    { found: (Resources[number] & { href: string })[] }
  >(sql, {
    asked: "owner text, hrefs text[]",
    select: `select n, coalesce((select json_agg(json_build_object('appId', r.app_id, 'uri', r.uri, 'href', r.href))
        from unnest(asked.hrefs) w (href) join resource_uris r on r.href = w.href and r.owner = asked.owner), '[]') as found
      from asked`,
  });
  return async (request: SetMachineDelegationRequest, call: Call): Promise<Judged> => {
    const { servedResources: served, targetResources: targets } = request;
    const hrefs = [...new Set([...served, ...targets].map(hrefOf))];
    const { found = [] } = (await read({ owner: organizationOf(call), hrefs }, call.signal)) ?? {};
    const known = (uris: readonly string[]) =>
      found.filter(({ href }) => uris.map(hrefOf).includes(href)).map(({ appId, uri }) => ({ appId, uri }));
    const unknown = (field: keyof Lists) =>
      request[field].flatMap((uri, at): Violation[] =>
        found.some(({ href }) => href === hrefOf(uri)) ? [] : [unknownAt(`${field}[${at}]`)],
      );
    const violations = [...unknown("servedResources"), ...unknown("targetResources")];
    return { violations, servedResources: known(served), targetResources: known(targets) };
  };
}

const unknownAt = (field: string): Violation => ({
  field,
  text: "RESOURCE_URI_UNKNOWN",
  reason: "RESOURCE_URI_UNKNOWN",
});

const delegationRead = (sql: Sql) =>
  loadOne<{ id: string }, Lists>(sql, {
    asked: "id text",
    select: `select n, d.served as "servedResources", d.targets as "targetResources"
      from asked join machine_delegations d on d.user_id = asked.id`,
  });
