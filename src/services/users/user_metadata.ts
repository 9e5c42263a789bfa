import type { ServiceImpl } from "@connectrpc/connect";
import { SetUserMetadataRequestSchema, type UserService } from "../../../gen/postern/v1/user_pb.ts";
import { type Call, type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { details, detailsAfter, factOf, next, type Versioned } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { messageRule } from "../../rules.ts";
import { changesTo, type Entry, entriesColumn, ofUser, repeatedKeys, setEntries } from "../metadata/metadata.ts";
import { refuseOvertaken } from "../reading/update_mask.ts";
import { touchUser } from "../writing/touch_user.ts";

type Metadata = Pick<ServiceImpl<typeof UserService>, "getUserMetadata" | "setUserMetadata">;

/** Reading and writing the metadata of users. */
export const userMetadata = ({ log, sql, clock }: Deps) => {
  const metadataOf = metadataRead(sql);

  return {
    async getUserMetadata({ userId }, call) {
      const { entries } = await userOf(userId, call);
      return { entries: [...entries] };
    },

    async setUserMetadata({ userId, entries: wanted, expectedSequence }, call) {
      const row = await userOf(userId, call);
      refuseOvertaken(row, expectedSequence);
      const entries = [...changesTo(row.entries, wanted)];
      if (entries.length === 0) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const changed = factOf("user", at, { case: "metadataSet", value: { metadata: { entries } } });
      return log.append(call, [changed], { details: detailsAfter(at) });
    },
  } satisfies Metadata;

  async function userOf(id: string, call: Call): Promise<Row> {
    const row = await metadataOf({ owner: organizationOf(call), id }, call.signal);
    if (!row) throw refuse.notFound("user", id);
    return row;
  }
};

export const userMetadataRules = [
  messageRule(SetUserMetadataRequestSchema, ({ entries }) => repeatedKeys(entries, "entries"), ["entries"]),
];

/** The fold of changed metadata. */
export const userMetadataFolds = {
  metadataSet: { views: [touchUser(), ...setEntries(ofUser, "owner, user_id", "f.owner, f.stream")] },
} satisfies Pick<NounFolds<"user">, "metadataSet">;

type Row = Versioned & { readonly entries: readonly Entry[] };

const metadataRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, Row>(sql, {
    asked: "owner text, id text",
    select: `select n, u.user_id as id, u.owner, u.version, u.created, u.changed,
               ${entriesColumn(ofUser, "u.user_id")} as entries
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id`,
  });

/** Reads the metadata of the users on a page. */
export const metadataOfUsers = (sql: Sql) => (ids: readonly string[]) =>
  sql<{ userId: string; entries: Entry[] }[]>`
    select u.id as "userId", m.entries from unnest(${[...ids]}::text[]) u (id)
    cross join lateral (
      select json_agg(json_build_object('key', key, 'value', value, 'shared', shared) order by key) as entries
      from user_metadata where user_id = u.id
    ) m where m.entries is not null`;
