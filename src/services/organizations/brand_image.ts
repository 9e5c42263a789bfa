import { createHash } from "node:crypto";
import type { Violation } from "../../errors.ts";
import { rasterOf } from "../../security/raster.ts";

/** The images of a branding. Their bytes are stored in a table of their own, because no event contains them. */
export type BrandImage = "logo" | "favicon";

/** The metadata of an image: its SHA-256 in hexadecimal, and its media type; empty without one. */
export type ImageOf = { readonly hash: string; readonly type: string };

const noImage: ImageOf = { hash: "", type: "" };

/** The image after a request: as before if the request has none, otherwise the new one, or none. */
export function imageAfter(before: ImageOf, bytes: Uint8Array | undefined): ImageOf {
  if (bytes === undefined) return before;
  const type = rasterOf(bytes)?.type;
  return type === undefined ? noImage : { hash: createHash("sha256").update(bytes).digest("hex"), type };
}

/** The bytes of new images, in the form of an event's secret. */
export const secretOf = (given: Partial<Readonly<Record<BrandImage, Uint8Array>>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(given).flatMap(([image, bytes]) =>
      bytes === undefined || bytes.length === 0 ? [] : [[image, Buffer.from(bytes).toString("base64")]],
    ),
  );

const mostPixels = 2_000;

/** Refuses bytes that are no image, or an image that would take a browser too much memory. */
export function wrongImage(field: BrandImage, bytes: Uint8Array | undefined): Violation[] {
  if (bytes === undefined || bytes.length === 0) return [];
  const raster = rasterOf(bytes);
  const reason = raster ? "IMAGE_TOO_LARGE" : "IMAGE_TYPE";
  if (raster && Math.min(raster.width, raster.height) > 0 && Math.max(raster.width, raster.height) <= mostPixels)
    return [];
  return [{ field, text: reason, params: { max: mostPixels }, reason }];
}

const tables: Readonly<Record<BrandImage, string>> = { logo: "branding_logos", favicon: "branding_favicons" };

/** The table of the bytes of an image. */
export const tableOf = (image: BrandImage): string => tables[image];

/** The SQL that stores the bytes of an image when a branding is set, and deletes those of a removed one. */
export const keepImage = (image: BrandImage): readonly string[] => [
  `insert into ${tableOf(image)} as l (owner, hash, type, bytes)
       select i.owner, i.payload->>'${image}Hash', i.payload->>'${image}Type', decode(i.secret->>'${image}', 'base64')
       from $input i where i.secret->>'${image}' is not null
       on conflict (owner) do update set hash = excluded.hash, type = excluded.type, bytes = excluded.bytes`,
  `delete from ${tableOf(image)} l using $input i where l.owner = i.owner and coalesce(i.payload->>'${image}Hash', '') = ''`,
];

/** The SQL that deletes the images of the objects that the facts name in this column. */
export const dropImages = (column: "owner" | "stream"): readonly string[] =>
  Object.values(tables).map((table) => `delete from ${table} l using $facts f where l.owner = f.${column}`);
