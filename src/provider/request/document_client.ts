import { create } from "@bufbuild/protobuf";
import {
  OidcAppType,
  OidcAuthMethodType,
  OidcConfigurationSchema,
  OidcGrantType,
  OidcResponseType,
} from "../../../gen/postern/v1/application_pb.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { hrefOf } from "../../services/callers/resource_in_force.ts";
import { whereRegistrationIsOpen } from "../../services/policies/registration_policy.ts";
import { type BrandRow, brandOf } from "../pages/brand.ts";
import { type BrandedClient, brandColumn } from "./branded_client.ts";
import type { Client } from "./client.ts";
import type { ClientDocument } from "./client_document.ts";
import { hostOf } from "./document_id.ts";
import { isLoopbackUri } from "./redirect_uri.ts";
import { acceptingResource } from "./resource.ts";

/** A document's URL and content, the redirect URI of a request, its first resource, and the organization that it names. */
type Asked = {
  readonly url: string;
  readonly document: ClientDocument;
  readonly redirectUri: string;
  readonly resource: string;
  readonly organizationId: string | undefined;
};

type Row = Pick<Client, "owner" | "projectId" | "active"> & {
  /** The project's application for the client; null before the first consent. */
  readonly appId: string | null;
  readonly brand: BrandRow | null;
  readonly organizationName: string;
  readonly registersIn: string | null;
};

/**
 * Makes the read of a client that brings its own document, as an application of the project whose API it wants tokens for; undefined if
 * that API does not accept such clients.
 */
export function documentClientRead(sql: Sql) {
  type Key = { readonly document: string; readonly href: string; readonly organization: string | null };
  const read = loadOne<Key, Row>(sql, {
    asked: "document text, href text, organization text",
    select: `select n, a.owner, a.project_id as "projectId", d.app_id as "appId",
      p.active and h.active and not h.deleted and coalesce(d.active, true) as active, ${brandColumn("asked.organization")},
      ${whereRegistrationIsOpen("coalesce(asked.organization, a.owner)")} as "registersIn"
      from asked cross join lateral ${acceptingResource("asked.href")} r
      join applications a on a.app_id = r.app_id
      join projects p on p.project_id = a.project_id join organizations h on h.organization_id = a.owner
      left join lateral (select x.app_id, x.active from applications x
        where x.client_id = asked.document and x.project_id = a.project_id and x.is_document offset 0) d on true`,
  });
  return async ({ url, document, redirectUri, resource, organizationId }: Asked) => {
    const row = await read({ document: url, href: hrefOf(resource), organization: organizationId ?? null });
    const brand = row && brandOf(row.brand, row.organizationName);
    if (!row || !brand) return undefined;
    const { owner, projectId, active, appId, registersIn } = row;
    const of = { owner, projectId, active, appId: appId ?? "" };
    const client = { ...of, clientId: url, name: hostOf(url), oidc: oidcOf(document, redirectUri), ...withoutProof };
    return { client, brand, registersIn: registersIn ?? undefined } satisfies BrandedClient;
  };
}

/** Makes the check whether a document is a client already in the project of an API, where nobody has deactivated it. */
export function documentIsClient(sql: Sql) {
  const read = loadOne<{ readonly document: string; readonly href: string }, object>(sql, {
    asked: "document text, href text",
    select: `select n from asked cross join lateral ${acceptingResource("asked.href")} r
      join applications a on a.app_id = r.app_id
      cross join lateral (select from applications x
        where x.client_id = asked.document and x.project_id = a.project_id and x.is_document and x.active offset 0) d`,
  });
  return async (document: string, resource: string): Promise<boolean> =>
    (await read({ document, href: hrefOf(resource) })) !== undefined;
}

/** A client with a document at sign-out, where it belongs to no project: what its document says about a URI, if it was read. */
export function leavingClient(url: string, read?: { readonly document: ClientDocument; readonly uri: string }): Client {
  const oidc = read ? oidcOf(read.document, read.uri) : create(OidcConfigurationSchema);
  const of = { appId: "", owner: "", projectId: "", active: true };
  return { ...of, clientId: url, name: hostOf(url), oidc, ...withoutProof };
}

/** Makes the check whether a user allows a client with a document in any project where it is not deactivated. */
export function allowedDocuments(sql: Sql) {
  const read = loadOne<{ readonly user: string; readonly document: string }, object>(sql, {
    asked: `"user" text, document text`,
    select: `select n from asked where exists (
      select from consents c where c.user_id = asked."user" and exists (
        select from applications a
          join projects p on p.project_id = a.project_id join organizations h on h.organization_id = a.owner
        where a.app_id = c.app_id and a.client_id = asked.document and a.is_document
          and a.active and p.active and h.active and not h.deleted offset 0) offset 0)`,
  });
  return async (user: string, document: string): Promise<boolean> => (await read({ user, document })) !== undefined;
}

const withoutProof = { secrets: [], keys: [], bringsDocument: true };

/** A client with a document, in the form of other clients: a program on the user's computer, or a web site. */
const oidcOf = ({ redirectUris, postLogoutRedirectUris, ...demands }: ClientDocument, redirectUri: string) =>
  create(OidcConfigurationSchema, {
    ...demands,
    redirectUris: [...redirectUris],
    postLogoutRedirectUris: [...postLogoutRedirectUris],
    responseTypes: [OidcResponseType.CODE],
    grantTypes: [OidcGrantType.AUTHORIZATION_CODE, OidcGrantType.REFRESH_TOKEN],
    appType: isLoopbackUri(redirectUri) ? OidcAppType.NATIVE : OidcAppType.WEB,
    authMethodType: OidcAuthMethodType.NONE,
  });

/** Whether any program on the user's computer may be behind the request, which only the user can tell. */
export const isOnLoopback = ({ bringsDocument, oidc }: Pick<Client, "bringsDocument" | "oidc">): boolean =>
  bringsDocument === true && oidc.appType === OidcAppType.NATIVE;
