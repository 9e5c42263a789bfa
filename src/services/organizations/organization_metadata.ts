import type { ServiceImpl } from "@connectrpc/connect";
import {
  type OrganizationService,
  SetOrganizationMetadataRequestSchema,
} from "../../../gen/postern/v1/organization_pb.ts";
import { type Call, type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { details, detailsAfter, factOf, next, type Versioned } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { messageRule } from "../../rules.ts";
import {
  changesTo,
  type Entry,
  entriesColumn,
  ofOrganization,
  repeatedKeys,
  setEntries,
} from "../metadata/metadata.ts";
import { refuseOvertaken } from "../reading/update_mask.ts";

type Metadata = Pick<ServiceImpl<typeof OrganizationService>, "getOrganizationMetadata" | "setOrganizationMetadata">;

/** Reading and writing the metadata of organizations. */
export const organizationMetadata = ({ log, sql, clock }: Deps) => {
  const metadataOf = metadataRead(sql);

  return {
    async getOrganizationMetadata({ organizationId }, call) {
      const { entries } = await rowOf(organizationOf(call), organizationId, call);
      return { entries: [...entries] };
    },

    async setOrganizationMetadata({ organizationId, entries: wanted, expectedSequence }, call) {
      const row = await rowOf(organizationId, organizationId, call);
      refuseOvertaken(row, expectedSequence);
      const entries = [...changesTo(row.entries, wanted)];
      if (entries.length === 0) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const changed = factOf("organization", at, { case: "metadataSet", value: { metadata: { entries } } });
      return log.append(call, [changed], { details: detailsAfter(at) });
    },
  } satisfies Metadata;

  async function rowOf(id: string, asked: string, { signal }: Call): Promise<Row> {
    const row = await metadataOf({ id }, signal);
    if (!row) throw refuse.notFound("organization", asked);
    return row;
  }
};

export const organizationMetadataRules = [
  messageRule(SetOrganizationMetadataRequestSchema, ({ entries }) => repeatedKeys(entries, "entries"), ["entries"]),
];

/** The fold of changed metadata. */
export const organizationMetadataFolds = {
  metadataSet: {
    views: [
      `update organizations o set version = f.version, changed = f.time from $facts f where o.organization_id = f.stream`,
      ...setEntries(ofOrganization, "organization_id", "f.stream"),
    ],
  },
} satisfies Pick<NounFolds<"organization">, "metadataSet">;

type Row = Versioned & { readonly entries: readonly Entry[] };

const metadataRead = (sql: Sql) =>
  loadOne<{ id: string }, Row>(sql, {
    asked: "id text",
    select: `select n, o.organization_id as id, o.organization_id as owner, o.version, o.created, o.changed,
               ${entriesColumn(ofOrganization, "o.organization_id")} as entries
             from asked join organizations o on o.organization_id = asked.id and not o.deleted`,
  });
