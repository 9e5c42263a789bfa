import type { ServiceImpl } from "@connectrpc/connect";
import type { PolicyService, RetentionPolicy } from "../../../gen/postern/v1/policy_pb.ts";
import { type Deps, organizationOf } from "../../deps.ts";
import { details, detailsAfter, factOf, next } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { given, ownRow, type PolicyTable, placeOf, refuseOvertakenPolicy, retentionStream } from "./policy.ts";

/** The policy for how long events are kept; only the instance has one. */
export const retentionPolicies = ({ log, sql, clock }: Deps) => {
  const policyOf = ownRow<Stored>(sql, retentionTable);

  return {
    async getRetentionPolicy(_request, call) {
      const row = await policyOf(call);
      return row.isSet ? { policy: shown(row), details: details(row) } : { policy: {} };
    },

    async setRetentionPolicy(request, call) {
      const policy = given(request.policy);
      const row = await policyOf(call);
      refuseOvertakenPolicy(row, request);
      if (row.isSet && isSame(row, policy)) return log.append(call, [], { details: details(row) });
      const at = placeOf(row, { owner: organizationOf(call), stream: retentionStream, now: clock() });
      const set = factOf("policy", at, { case: "retentionSet", value: policy });
      return log.append(call, [set], { details: detailsAfter(at) });
    },

    async resetRetentionPolicy(_request, call) {
      const row = await policyOf(call);
      if (!row.isSet) return log.append(call, [], {});
      const at = next(row, clock());
      const reset = factOf("policy", at, { case: "retentionReset", value: {} });
      return log.append(call, [reset], { details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof PolicyService>>;
};

export const retentionPolicyFolds = {
  retentionSet: {
    views: [
      `insert into retention_policies as p (owner, sign_in_days, administration_days, version, created, changed)
       select f.owner, (f.payload->>'signInDays')::integer, (f.payload->>'administrationDays')::integer, f.version, f.time, f.time
       from $facts f
       on conflict (owner) do update set sign_in_days = excluded.sign_in_days,
         administration_days = excluded.administration_days, version = excluded.version, changed = excluded.changed`,
    ],
  },
  retentionReset: { views: [`delete from retention_policies p using $facts f where p.owner = f.owner`] },
} satisfies Pick<NounFolds<"policy">, "retentionSet" | "retentionReset">;

type Stored = { readonly signInDays: number | null; readonly administrationDays: number | null };

const retentionTable: PolicyTable = {
  table: "retention_policies",
  columns: `sign_in_days as "signInDays", administration_days as "administrationDays"`,
  stream: retentionStream,
};

const shown = ({ signInDays, administrationDays }: Stored) => ({
  ...(signInDays !== null && { signInDays }),
  ...(administrationDays !== null && { administrationDays }),
});

const isSame = (row: Stored, { signInDays, administrationDays }: RetentionPolicy): boolean =>
  row.signInDays === (signInDays ?? null) && row.administrationDays === (administrationDays ?? null);
