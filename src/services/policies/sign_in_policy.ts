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
  refuseOvertakenPolicy,
  rowInForce,
  signInStream,
  standing,
} from "./policy.ts";

/** The policies for signing in. */
export const signInPolicies = ({ log, sql, clock }: Deps) => {
  const policyOf = rowInForce<Stored>(sql, signInTable);
  const ownPolicy = ownRow<Stored>(sql, signInTable);

  return {
    async getSignInPolicy(request, call) {
      const row = await policyOf({ owner: organizationOf(call) }, call.signal);
      return { policy: { mailCodes: row?.mailCodes ?? false }, ...standing(row, request, call) };
    },

    async setSignInPolicy(request, call) {
      const policy = given(request.policy);
      const row = await ownPolicy(call);
      refuseOvertakenPolicy(row, request);
      if (row.isSet && row.mailCodes === policy.mailCodes) return log.append(call, [], { details: details(row) });
      const at = placeOf(row, { owner: organizationOf(call), stream: signInStream, now: clock() });
      const set = factOf("policy", at, { case: "signInSet", value: policy });
      return log.append(call, [set], { details: detailsAfter(at) });
    },

    async resetSignInPolicy(_request, call) {
      const row = await ownPolicy(call);
      if (!row.isSet) return log.append(call, [], {});
      const at = next(row, clock());
      const reset = factOf("policy", at, { case: "signInReset", value: {} });
      return log.append(call, [reset], { details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof PolicyService>>;
};

export const signInPolicyFolds = {
  signInSet: {
    views: [
      `insert into sign_in_policies as p (owner, mail_codes, version, created, changed)
       select f.owner, coalesce((f.payload->>'mailCodes')::boolean, false), f.version, f.time, f.time from $facts f
       on conflict (owner) do update set mail_codes = excluded.mail_codes, version = excluded.version,
         changed = excluded.changed`,
    ],
  },
  signInReset: { views: [`delete from sign_in_policies p using $facts f where p.owner = f.owner`] },
} satisfies Pick<NounFolds<"policy">, "signInSet" | "signInReset">;

type Stored = { readonly mailCodes: boolean };

const signInTable: PolicyTable = {
  table: "sign_in_policies",
  columns: `mail_codes as "mailCodes"`,
  stream: signInStream,
};

/** SQL for whether the policy in force in an organization lets people sign in with mailed codes. */
export const mailCodesIn = (owner: string): string => `coalesce((
  select p.mail_codes from instance cross join lateral (${nearest("sign_in_policies", owner)}) p), false)`;

/** SQL for whether the user `u` may sign in with mailed codes. With a role on the instance, its policy must allow them, too. */
export const mailCodesOf = (user: string): string => `(${mailCodesIn(`${user}.owner`)} and (
  ${mailCodesIn("(select instance_id from instance)")}
  or not exists (select from members m where m.user_id = ${user}.user_id and m.scope = 'instance' offset 0)))`;
