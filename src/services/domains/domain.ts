import type { ServiceImpl } from "@connectrpc/connect";
import {
  AddDomainRequestSchema,
  type DomainService,
  ListDomainsRequestSchema,
} from "../../../gen/postern/v1/domain_pb.ts";
import { type Call, type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { details, detailsAfter, factOf, first, next } from "../../events/fact.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { messageRule } from "../../rules.ts";
import { newDomainToken } from "../../security/domain_token.ts";
import { cut, pageOf, pageRule } from "../reading/page.ts";
import { domainIn, wrongDomain } from "./domain_name.ts";
import { domainProof } from "./domain_proof.ts";
import { refuseHeld, refuseNewDomain, refuseWithoutDns } from "./domain_refusal.ts";
import { type DomainRow, domain, domainRead, domainsOf, newDomainRead, recordOf } from "./domain_row.ts";
import { pauseAfter } from "./judge_check.ts";
import type { LookupSettings } from "./txt_lookup.ts";

export const domainHandlers = (deps: Deps, settings: LookupSettings) => {
  const { log, sql, clock, ids } = deps;
  const found = domainOf(sql);
  const newDomain = newDomainRead(sql);
  const prove = domainProof(deps, settings);

  return {
    async addDomain({ name: written, withoutDns }, call) {
      if (withoutDns) refuseWithoutDns(call);
      const [owner, name] = [organizationOf(call), domainIn(written)];
      refuseNewDomain(await newDomain({ owner, name }, call.signal), { name, withoutDns });
      const at = first(owner, ids(), clock());
      const value = { name, token: newDomainToken(), withoutDns };
      const added = factOf("domain", at, { case: "added", value }, { seconds: pauseAfter(0) });
      const answer = { domainId: at.stream, details: detailsAfter(at), record: recordOf(value) };
      return log.append(call, [added], answer);
    },

    async getDomain({ domainId }, call) {
      return { domain: domain(await found(domainId, call)) };
    },

    async listDomains(request, call) {
      const page = pageOf(ListDomainsRequestSchema, request, 1);
      const { rows, nextPageToken } = cut(await domainsOf(sql, organizationOf(call), page), page, ({ id }) => [id]);
      return { domains: rows.map(domain), nextPageToken };
    },

    async verifyDomain({ domainId, withoutDns }, call) {
      if (withoutDns) refuseWithoutDns(call);
      const row = await found(domainId, call);
      if (row.withoutDns) return log.append(call, [], { details: details(row) });
      if (!withoutDns) return prove(row, call);
      const { owner, name } = row;
      refuseHeld(row, await newDomain({ owner, name }, call.signal));
      const at = next(row, clock());
      const given = factOf("domain", at, { case: "verified", value: { name, withoutDns } });
      return log.append(call, [given], { details: detailsAfter(at) });
    },

    async removeDomain({ domainId }, call) {
      const { name, ...row } = await found(domainId, call);
      const at = next(row, clock());
      const removed = factOf("domain", at, { case: "removed", value: { name } });
      return log.append(call, [removed], { details: detailsAfter(at) });
    },
  } satisfies ServiceImpl<typeof DomainService>;
};

/** Makes the read of a domain in the organization that a call works in. */
function domainOf(sql: Sql) {
  const read = domainRead(sql);
  return async (id: string, call: Call): Promise<DomainRow> => {
    const row = await read({ owner: organizationOf(call), id }, call.signal);
    if (!row) throw refuse.notFound("domain", id);
    return row;
  };
}

export const domainRules = [
  messageRule(AddDomainRequestSchema, ({ name }) => (name ? wrongDomain(name) : [])),
  pageRule(ListDomainsRequestSchema, 1),
];
