import type { ServiceImpl } from "@connectrpc/connect";
import { ExportUserRequestSchema, type UserExportService } from "../../../gen/postern/v1/user_export_pb.ts";
import { type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { notAToken, pageOf, pageRule, tokenOf } from "../reading/page.ts";
import { type Kept, type OfUser, type Section, sections } from "./user_record.ts";

/** Everything that is stored about a user, section by section. */
export const userExportService = ({ sql, clock }: Pick<Deps, "sql" | "clock">) =>
  ({
    async exportUser(request, call) {
      const { limit, after, query } = pageOf(ExportUserRequestSchema, request, 3);
      const user = { sql, owner: organizationOf(call), userId: request.userId, now: clock() };
      const { found, place } = await recordsAfter(user, placeIn(after), limit - 1);
      return {
        records: found.flatMap(({ record }) => record ?? []),
        nextPageToken: place ? tokenOf(query(), [String(place.section), ...place.keys]) : "",
      };
    },
  }) satisfies ServiceImpl<typeof UserExportService>;

export const userExportRules = [pageRule(ExportUserRequestSchema, 3)];

/** The progress of an export: a section, and the keys of its last record on the page; undefined if the section has not begun. */
type Place = { readonly section: number; readonly keys: readonly string[] };

function placeIn(after: readonly string[] | undefined): Place | undefined {
  if (!after) return undefined;
  const [number = "", ...keys] = after;
  const section = /^\d{1,2}$/.test(number) ? sections[Number(number)] : undefined;
  if (!section?.isPlace(keys)) throw refuse.invalid([notAToken]);
  return { section: Number(number), keys };
}

/** Reads sections one after the other until a page is full. A section with no more rows than asked for is complete. */
async function recordsAfter(user: OfUser, start: Place | undefined, size: number) {
  const found: Kept[] = [];
  for (let section = start?.section ?? 0; section < sections.length; section++) {
    const after = section === start?.section ? start.keys : undefined;
    const rows = await (sections[section] as Section).read(user, { after, limit: size - found.length });
    found.push(...rows);
    const last = rows.at(-1);
    if (last && found.length >= size) return { found, place: { section, keys: last.keys } };
  }
  return { found, place: undefined };
}
