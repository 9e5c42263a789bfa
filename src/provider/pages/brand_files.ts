import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { type BrandImage, tableOf } from "../../services/organizations/brand_image.ts";
import { queryMaxLength } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { type BrandRow, brandTables, brandValue, styleOf } from "./brand.ts";

/** The stylesheets, logos and favicons of organizations. Their paths contain a hash of the content, so browsers cache them. */
export function brandFiles(sql: Sql): readonly HttpRoute[] {
  const brandOf = ownBrandRead(sql);
  return [
    {
      path: paths.brandStyle,
      async handle(http) {
        const { organization, hash } = fileIn(http);
        const row = await brandOf({ organization });
        if (!row) return missing;
        const style = styleOf(row.brand);
        // A page shown before a change gets the new colours, uncached.
        return file(style.css, { type: "text/css; charset=utf-8", isKept: style.hash === hash });
      },
    },
    imageRoute(paths.logo, imageRead(sql, "logo")),
    imageRoute(paths.favicon, imageRead(sql, "favicon")),
  ];
}

const imageRoute = (path: string, read: ReturnType<typeof imageRead>): HttpRoute => ({
  path,
  async handle(http) {
    const row = await read(fileIn(http));
    return row ? file(row.bytes, { type: row.type, isKept: true }) : missing;
  },
});

/** Reads the organization and the hash in a path; a malformed query names nothing. */
function fileIn({ query }: HttpRequest): { organization: string; hash: string } {
  const short = query.length <= queryMaxLength ? query : "";
  const [organization, hash] = [new URLSearchParams(short).get("organization"), new URLSearchParams(short).get("hash")];
  return { organization: organization?.replaceAll("\0", "") ?? "", hash: hash?.replaceAll("\0", "") ?? "" };
}

const ownBrandRead = (sql: Sql) =>
  loadOne<{ organization: string }, { brand: BrandRow }>(sql, {
    asked: "organization text",
    select: `select n, ${brandValue} as brand from asked cross join ${brandTables}
             where b.owner = asked.organization and (b.owner = instance_id or o.organization_id is not null)`,
  });

type Image = { readonly type: string; readonly bytes: Buffer };

const imageRead = (sql: Sql, image: BrandImage) =>
  loadOne<{ organization: string; hash: string }, Image>(sql, {
    asked: "organization text, hash text",
    select: `select n, l.type, l.bytes from asked
             join ${tableOf(image)} l on l.owner = asked.organization and l.hash = asked.hash`,
  });

const missing: Response = { status: 404, headers: { "content-type": "text/plain; charset=utf-8" }, body: "" };

type FileKind = { readonly type: string; readonly isKept: boolean };

/** An image opened by itself runs no script, whatever else its bytes may mean. */
const file = (body: string | Uint8Array, { type, isKept }: FileKind): Response => ({
  status: 200,
  headers: {
    "content-type": type,
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "same-origin",
    ...(isKept ? { "cache-control": "public, max-age=31536000, immutable" } : {}),
  },
  body,
});
