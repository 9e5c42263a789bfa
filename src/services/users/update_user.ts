import type { ServiceImpl } from "@connectrpc/connect";
import {
  HumanUserUpdateSchema,
  MachineUserUpdateSchema,
  UpdateHumanUserRequestSchema,
  UpdateMachineUserRequestSchema,
  type UserService,
} from "../../../gen/postern/v1/user_pb.ts";
import { type Call, type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { details, detailsAfter, factOf, next } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { history, selected } from "../reading/row.ts";
import { changesOf, refuseOvertaken, updateRule } from "../reading/update_mask.ts";
import { touchUser } from "../writing/touch_user.ts";
import { addressAfter, addressInFact, addressShown, isSameAddress } from "./postal_address.ts";
import type { UserRow } from "./user_row.ts";

type Updates = Pick<ServiceImpl<typeof UserService>, "updateHumanUser" | "updateMachineUser">;

export const userUpdates = ({ log, sql, clock }: Deps) => {
  const namesOf = namesRead(sql);

  return {
    async updateHumanUser({ userId, human, updateMask, expectedSequence }, call) {
      const row = await userOf(userId, call);
      if (row.kind !== "human") throw refuse.because("USER_NOT_HUMAN", { params: { id: userId } });
      refuseOvertaken(row, expectedSequence);
      const changes = changesOf(HumanUserUpdateSchema, human, updateMask);
      const { givenName = row.givenName ?? "", familyName = row.familyName ?? "" } = changes;
      const { language = row.language ?? "" } = changes;
      const address = addressAfter(row.address, human?.address, updateMask?.paths ?? []);
      const more = {
        ...(isSameAddress(address, row.address) ? {} : addressShown(address ?? {})),
        ...(language === (row.language ?? "") ? {} : { language }),
      };
      const isSameName = givenName === row.givenName && familyName === row.familyName;
      if (isSameName && Object.keys(more).length === 0) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const value = { givenName, familyName, ...more };
      const changed = factOf("user", at, { case: "humanChanged", value });
      return log.append(call, [changed], { details: detailsAfter(at) });
    },

    async updateMachineUser({ userId, machine, updateMask, expectedSequence }, call) {
      const row = await userOf(userId, call);
      if (row.kind !== "machine") throw refuse.because("USER_NOT_MACHINE", { params: { id: userId } });
      refuseOvertaken(row, expectedSequence);
      const { name = row.name ?? "" } = changesOf(MachineUserUpdateSchema, machine, updateMask);
      if (name === row.name) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const changed = factOf("user", at, { case: "machineChanged", value: { name } });
      return log.append(call, [changed], { details: detailsAfter(at) });
    },
  } satisfies Updates;

  async function userOf(id: string, call: Call): Promise<Row> {
    const row = await namesOf({ owner: organizationOf(call), id }, call.signal);
    if (!row) throw refuse.notFound("user", id);
    return row;
  }
};

export const userUpdateRules = [
  updateRule(UpdateHumanUserRequestSchema, "human"),
  updateRule(UpdateMachineUserRequestSchema, "machine"),
];

/** The folds of changed names: they write the user's row. */
export const userUpdateFolds = {
  humanChanged: {
    views: [
      touchUser(`given_name = f.payload->>'givenName', family_name = f.payload->>'familyName',
        address = case when f.payload ? 'address' then ${addressInFact} else t.address end,
        language = case when f.payload ? 'language' then nullif(f.payload->>'language', '') else t.language end`),
    ],
  },
  machineChanged: { views: [touchUser(`name = f.payload->>'name'`)] },
} satisfies Pick<NounFolds<"user">, "humanChanged" | "machineChanged">;

const names = ["owner", "kind", "givenName", "familyName", "name", "address", "language"] as const;

type Row = Pick<UserRow, "id" | (typeof names)[number] | keyof typeof history>;

const namesRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, Row>(sql, {
    asked: "owner text, id text",
    select: `select n, u.user_id as id, ${selected("u", [...names, ...Object.keys(history)], { lines: ["version"], indent: 15 })}
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id`,
  });
