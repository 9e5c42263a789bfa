import { create, equals } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { type PolicyService, PrivacyPolicySchema } from "../../../gen/postern/v1/policy_pb.ts";
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
      return { policy: privacyPolicy(row ?? builtIn), ...standing(row, request, call) };
    },

    async setPrivacyPolicy(request, call) {
      const policy = given(request.policy);
      const row = await ownPolicy(call);
      refuseOvertakenPolicy(row, request);
      if (row.isSet && equals(PrivacyPolicySchema, policy, create(PrivacyPolicySchema, privacyPolicy(row))))
        return log.append(call, [], { details: details(row) });
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
      `insert into privacy_policies as p (owner, restore_days, self_erasure, version, created, changed)
       select f.owner, (f.payload->>'restoreDays')::integer, coalesce((f.payload->>'selfErasure')::boolean, false),
         f.version, f.time, f.time
       from $facts f
       on conflict (owner) do update set restore_days = excluded.restore_days, self_erasure = excluded.self_erasure,
         version = excluded.version, changed = excluded.changed`,
    ],
  },
  privacyReset: { views: [`delete from privacy_policies p using $facts f where p.owner = f.owner`] },
} satisfies Pick<NounFolds<"policy">, "privacySet" | "privacyReset">;

type Stored = { readonly restoreDays: number; readonly selfErasure: boolean };

const privacyPolicy = ({ restoreDays, selfErasure }: Stored) => ({ restoreDays, selfErasure });

const privacyTable: PolicyTable = {
  table: "privacy_policies",
  columns: `restore_days as "restoreDays", self_erasure as "selfErasure"`,
  stream: privacyStream,
};

const builtIn: Stored = { restoreDays: 7, selfErasure: false };

const ofPolicy = (column: string, owner: string, otherwise: string): string => `coalesce((
  select p.${column} from instance cross join lateral (${nearest("privacy_policies", owner)}) p), ${otherwise})`;

/** SQL for the number of days for which an erased user of the organization can be restored. */
export const restoreDaysOf = (owner: string): string => ofPolicy("restore_days", owner, String(builtIn.restoreDays));

/** SQL for whether people in the organization may erase their own accounts. */
export const mayErase = (owner: string): string => ofPolicy("self_erasure", owner, String(builtIn.selfErasure));
