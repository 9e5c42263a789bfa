import { enumFromJson } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type FactorRequirement,
  type FactorRequirementJson,
  FactorRequirementSchema,
  type PolicyService,
} from "../../../gen/postern/v1/policy_pb.ts";
import { type Deps, organizationOf } from "../../deps.ts";
import { details, detailsAfter, factOf, next } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import {
  builtInFactorRequirement,
  factorStream,
  given,
  ownRow,
  type PolicyTable,
  placeOf,
  refuseOvertakenPolicy,
  rowInForce,
  standing,
} from "./policy.ts";

/** The policies for second factors. */
export const factorPolicies = ({ log, sql, clock }: Deps) => {
  const policyOf = rowInForce<Stored>(sql, factorTable);
  const ownPolicy = ownRow<Stored>(sql, factorTable);

  return {
    async getFactorPolicy(request, call) {
      const row = await policyOf({ owner: organizationOf(call) }, call.signal);
      return {
        policy: { requirement: requirementOf(row?.requirement ?? builtInFactorRequirement) },
        ...standing(row, request, call),
      };
    },

    async setFactorPolicy(request, call) {
      const policy = given(request.policy);
      const row = await ownPolicy(call);
      refuseOvertakenPolicy(row, request);
      if (row.isSet && requirementOf(row.requirement) === policy.requirement)
        return log.append(call, [], { details: details(row) });
      const at = placeOf(row, { owner: organizationOf(call), stream: factorStream, now: clock() });
      const set = factOf("policy", at, { case: "factorSet", value: policy });
      return log.append(call, [set], { details: detailsAfter(at) });
    },

    async resetFactorPolicy(_request, call) {
      const row = await ownPolicy(call);
      if (!row.isSet) return log.append(call, [], {});
      const at = next(row, clock());
      const reset = factOf("policy", at, { case: "factorReset", value: {} });
      return log.append(call, [reset], { details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof PolicyService>>;
};

export const factorPolicyFolds = {
  factorSet: {
    views: [
      `insert into factor_policies as p (owner, requirement, version, created, changed)
       select f.owner, f.payload->>'requirement', f.version, f.time, f.time from $facts f
       on conflict (owner) do update set requirement = excluded.requirement, version = excluded.version,
         changed = excluded.changed`,
    ],
  },
  factorReset: { views: [`delete from factor_policies p using $facts f where p.owner = f.owner`] },
} satisfies Pick<NounFolds<"policy">, "factorSet" | "factorReset">;

type Stored = { readonly requirement: string };

const factorTable: PolicyTable = { table: "factor_policies", columns: "requirement", stream: factorStream };

const requirementOf = (name: string): FactorRequirement =>
  enumFromJson(FactorRequirementSchema, name as FactorRequirementJson);

/** Whether a factor policy keeps users from enrolling factors. */
export const isEnrolmentOff = (requirement: string): boolean => requirement === "FACTOR_REQUIREMENT_OFF";

/** Whether a factor policy requires a user to have a factor. */
export function isFactorRequired(requirement: string, { isAdministrator }: { isAdministrator: boolean }): boolean {
  if (requirement === "FACTOR_REQUIREMENT_REQUIRED_FOR_ADMINISTRATORS") return isAdministrator;
  return requirement === "FACTOR_REQUIREMENT_REQUIRED";
}
