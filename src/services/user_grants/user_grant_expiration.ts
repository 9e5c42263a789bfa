import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AddUserGrantRequestSchema,
  AddUserGrantsRequestSchema,
  SetUserGrantExpirationRequestSchema,
  type UserGrantService,
} from "../../../gen/postern/v1/user_grant_pb.ts";
import { type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { details, detailsAfter, factOf, next } from "../../events/fact.ts";
import { itemsRule, messageRule } from "../../rules.ts";
import { refuseOvertaken } from "../reading/update_mask.ts";
import { pastExpiration } from "../writing/expiration.ts";
import { deciderIn, unaccepted } from "../writing/offer.ts";
import { grantAndRolesRead } from "./user_grant_roles.ts";

/** Sets when user grants end. They end by the clock, without an event. */
export const userGrantExpiration = ({ log, sql, clock }: Deps) => {
  const grantToChange = grantAndRolesRead(sql);

  return {
    async setUserGrantExpiration({ userGrantId: id, expirationDate, expectedSequence }, call) {
      const row = await grantToChange({ owner: organizationOf(call), id, role_keys: [] }, call.signal);
      if (!row || row.isHidden) throw refuse.notFound("user_grant", id);
      refuseOvertaken(row, expectedSequence);
      const [stored, wanted] = [
        endOf(row.expirationDate?.getTime()),
        endOf(expirationDate && timestampMs(expirationDate)),
      ];
      if (stored === wanted) return log.append(call, [], { details: details(row) });
      const no = wanted > stored && deciderIn(row, call) !== undefined ? unaccepted("expirationDate") : undefined;
      if (no) throw refuse.because(no.reason, no);
      const at = next(row, clock());
      const changed = factOf("userGrant", at, { case: "expirationChanged", value: { expirationDate } });
      return log.append(call, [changed], { details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof UserGrantService>>;
};

const endOf = (ms: number | undefined): number => ms ?? Number.POSITIVE_INFINITY;

/** The rules that the end of a grant is in the future. */
export const userGrantExpirationRules = ({ clock }: Pick<Deps, "clock">) => [
  messageRule(AddUserGrantRequestSchema, ({ expirationDate }) => pastExpiration(expirationDate, clock())),
  messageRule(SetUserGrantExpirationRequestSchema, ({ expirationDate }) => pastExpiration(expirationDate, clock())),
  itemsRule(AddUserGrantsRequestSchema, function* ({ items }) {
    const now = clock();
    for (const [n, { expirationDate }] of items.entries())
      if (expirationDate)
        yield pastExpiration(expirationDate, now).map((one) => ({ ...one, field: `items[${n}].${one.field}` }));
  }),
];
