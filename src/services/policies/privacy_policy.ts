import type { ServiceImpl } from "@connectrpc/connect";
import type { PolicyService } from "../../../gen/postern/v1/policy_pb.ts";
import { type Deps, organizationOf } from "../../deps.ts";
import { details, detailsAfter, factOf, next } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import {
  given,
  nearest,
  ownRow,
  type PolicyTable,
  placeOf,
  privacyStream,
  refuseOvertakenPolicy,
  rowInForce,
  standing,
} from "./policy.ts";

/** The policies for personal data. */
export const privacyPolicies = ({ log, sql, clock }: Deps) => {
  const policyOf = rowInForce<Stored>(sql, privacyTable);
  const ownPolicy = ownRow<Stored>(sql, privacyTable);

  return {
    async getPrivacyPolicy(request, call) {
      const row = await policyOf({ owner: organizationOf(call) }, call.signal);
      return { policy: { restoreDays: row?.restoreDays ?? builtInRestoreDays }, ...standing(row, request, call) };
    },

    async setPrivacyPolicy(request, call) {
      const policy = given(request.policy);
      const row = await ownPolicy(call);
      refuseOvertakenPolicy(row, request);
      if (row.isSet && row.restoreDays === policy.restoreDays) return log.append(call, [], { details: details(row) });
      const at = placeOf(row, { owner: organizationOf(call), stream: privacyStream, now: clock() });
      const set = factOf("policy", at, { case: "privacySet", value: policy });
      return log.append(call, [set], { details: detailsAfter(at) });
    },

    async resetPrivacyPolicy(_request, call) {
      const row = await ownPolicy(call);
      if (!row.isSet) return log.append(call, [], {});
      const at = next(row, clock());
      const reset = factOf("policy", at, { case: "privacyReset", value: {} });
      return log.append(call, [reset], { details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof PolicyService>>;
};

export const privacyPolicyFolds = {
  privacySet: {
    views: [
      `insert into privacy_policies as p (owner, restore_days, version, created, changed)
       select f.owner, (f.payload->>'restoreDays')::integer, f.version, f.time, f.time from $facts f
       on conflict (owner) do update set restore_days = excluded.restore_days, version = excluded.version,
         changed = excluded.changed`,
    ],
  },
  privacyReset: { views: [`delete from privacy_policies p using $facts f where p.owner = f.owner`] },
} satisfies Pick<NounFolds<"policy">, "privacySet" | "privacyReset">;

type Stored = { readonly restoreDays: number };

const privacyTable: PolicyTable = {
  table: "privacy_policies",
  columns: `restore_days as "restoreDays"`,
  stream: privacyStream,
};

const builtInRestoreDays = 7;

/** SQL for the number of days for which an erased user of the organization can be restored. */
export const restoreDaysOf = (owner: string): string => `coalesce((
  select p.restore_days from instance cross join lateral (${nearest("privacy_policies", owner)}) p), ${builtInRestoreDays})`;
