import type { HttpRoute, Response } from "@postern/gateway";
import { paths } from "../http/paths.ts";
import { forAnyOrigin } from "../request/cross_origin.ts";
import type { DocumentSettings } from "../request/document_id.ts";
import { resourceMetadata } from "../request/own_api.ts";
import { metadata } from "./discovery.ts";
import type { SigningKeys } from "./signing_keys.ts";

type Parts = {
  readonly settings: DocumentSettings;
  readonly issuer: () => string;
  readonly keys: Pick<SigningKeys, "published">;
};

/** The public documents: the provider's metadata and its keys. */
export function documents({ settings, issuer, keys }: Parts): readonly HttpRoute[] {
  const description = async () => jsonDocument(metadata(issuer(), settings), 300);
  return [
    { path: paths.configuration, handle: description },
    { path: paths.authorizationServer, handle: description },
    { path: paths.resource, handle: async () => jsonDocument(resourceMetadata(issuer()), 300) },
    { path: paths.keys, handle: async () => jsonDocument({ keys: await keys.published() }, 300) },
  ];
}

const jsonDocument = (body: object, seconds: number): Response => ({
  status: 200,
  headers: { ...forAnyOrigin, "content-type": "application/json", "cache-control": `public, max-age=${seconds}` },
  body: JSON.stringify(body),
});
