import { create, equals } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type PolicyService,
  RegistrationAudience,
  RegistrationPolicySchema,
} from "../../../gen/postern/v1/policy_pb.ts";
import { type Deps, organizationOf } from "../../deps.ts";
import { details, detailsAfter, factOf, next } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { given, ownRow, type PolicyTable, placeOf, refuseOvertakenPolicy, registrationStream } from "./policy.ts";

/** The policy for who may register; each organization has its own, or none. */
export const registrationPolicies = ({ log, sql, clock }: Deps) => {
  const policyOf = ownRow<Stored>(sql, registrationTable);

  return {
    async getRegistrationPolicy(_request, call) {
      const row = await policyOf(call);
      return row.isSet
        ? { policy: shown(row), details: details(row) }
        : { policy: { audience: RegistrationAudience.NOBODY } };
    },

    async setRegistrationPolicy(request, call) {
      const policy = given(request.policy);
      const row = await policyOf(call);
      refuseOvertakenPolicy(row, request);
      if (row.isSet && equals(RegistrationPolicySchema, policy, create(RegistrationPolicySchema, shown(row))))
        return log.append(call, [], { details: details(row) });
      const at = placeOf(row, { owner: organizationOf(call), stream: registrationStream, now: clock() });
      const set = factOf("policy", at, { case: "registrationSet", value: policy });
      return log.append(call, [set], { details: detailsAfter(at) });
    },

    async resetRegistrationPolicy(_request, call) {
      const row = await policyOf(call);
      if (!row.isSet) return log.append(call, [], {});
      const at = next(row, clock());
      const reset = factOf("policy", at, { case: "registrationReset", value: {} });
      return log.append(call, [reset], { details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof PolicyService>>;
};

export const registrationPolicyFolds = {
  registrationSet: {
    views: [
      `insert into registration_policies as p (owner, audience, version, created, changed)
       select f.owner, f.payload->>'audience', f.version, f.time, f.time from $facts f
       on conflict (owner) do update set audience = excluded.audience, version = excluded.version, changed = excluded.changed`,
    ],
  },
  registrationReset: { views: ["delete from registration_policies p using $facts f where p.owner = f.owner"] },
} satisfies Pick<NounFolds<"policy">, "registrationSet" | "registrationReset">;

/** The names of the audiences, in the form of facts. */
export type Audience = `REGISTRATION_AUDIENCE_${Exclude<keyof typeof RegistrationAudience, "UNSPECIFIED">}`;

type Stored = { readonly audience: Audience };

const shown = ({ audience }: Stored) => ({ audience: byName[audience] });

const byName: Readonly<Record<Audience, RegistrationAudience>> = {
  REGISTRATION_AUDIENCE_NOBODY: RegistrationAudience.NOBODY,
  REGISTRATION_AUDIENCE_PROVEN_DOMAINS: RegistrationAudience.PROVEN_DOMAINS,
  REGISTRATION_AUDIENCE_EVERYBODY: RegistrationAudience.EVERYBODY,
};

const registrationTable: PolicyTable = {
  table: "registration_policies",
  columns: "audience",
  stream: registrationStream,
};

/** SQL for the organization if some people may register there, otherwise null. */
export const whereRegistrationIsOpen = (organization: string): string => `(
  select p.owner from registration_policies p where p.owner = ${organization} and p.audience <> 'REGISTRATION_AUDIENCE_NOBODY')`;
