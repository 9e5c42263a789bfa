import { readFile } from "node:fs/promises";
import type { HttpRoute, Response } from "@postern/gateway";
import { forAnyOrigin } from "./cross_origin.ts";
import { metadata, paths } from "./discovery.ts";
import type { ProviderParts } from "./endpoints.ts";
import { resourceMetadata, resourceMetadataPath } from "./own_api.ts";

/** The documents that anyone may read: the description of the provider, its keys, and the files of its pages. */
export function documents({ issuer, keys }: ProviderParts): readonly HttpRoute[] {
  const description = async () => jsonDocument(metadata(issuer()), 300);
  return [
    { path: paths.configuration, handle: description },
    { path: paths.authorizationServer, handle: description },
    { path: resourceMetadataPath, handle: async () => jsonDocument(resourceMetadata(issuer()), 300) },
    { path: paths.keys, handle: async () => jsonDocument({ keys: await keys.published() }, 300) },
    fileRoute(paths.style, "page.css", "text/css; charset=utf-8"),
    fileRoute(paths.formPost, "form_post.js", "text/javascript; charset=utf-8"),
    fileRoute(paths.passkeyScript, "passkey.js", "text/javascript; charset=utf-8"),
  ];
}

const jsonDocument = (body: object, seconds: number): Response => ({
  status: 200,
  headers: { ...forAnyOrigin, "content-type": "application/json", "cache-control": `public, max-age=${seconds}` },
  body: JSON.stringify(body),
});

function fileRoute(path: string, name: string, type: string): HttpRoute {
  const text = readFile(new URL(`./${name}`, import.meta.url), "utf8");
  return {
    path,
    handle: async () => ({
      status: 200,
      headers: { "content-type": type, "cache-control": "public, max-age=300" },
      body: await text,
    }),
  };
}
