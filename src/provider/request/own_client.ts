import { create } from "@bufbuild/protobuf";
import {
  OidcAppType,
  OidcAuthMethodType,
  OidcConfigurationSchema,
  OidcGrantType,
  OidcResponseType,
} from "../../../gen/postern/v1/application_pb.ts";
import { paths } from "../http/paths.ts";
import type { Client } from "./client.ts";

/** The client id of our own pages, which no application has: those of applications have no blank. */
export const ownClientId = "account pages";

/** The paths of the pages of the account. */
export const accountPaths = [
  "/account",
  "/account/email",
  "/account/sessions",
  "/account/applications",
  "/account/factors",
] as const;

const ownPaths = [...accountPaths, paths.addFactor] as const;

/** A path of our own pages that a sign-in leads to. */
export type OwnPath = (typeof ownPaths)[number];

/** The pages of the account, as sign-in has them: users sign in to them as to an application, and no token comes of it. */
export const ownClient: Client = {
  appId: "",
  clientId: ownClientId,
  name: "Postern",
  owner: "",
  projectId: "",
  active: true,
  oidc: create(OidcConfigurationSchema, {
    redirectUris: [...ownPaths],
    responseTypes: [OidcResponseType.CODE],
    grantTypes: [OidcGrantType.AUTHORIZATION_CODE],
    appType: OidcAppType.WEB,
    authMethodType: OidcAuthMethodType.BASIC,
  }),
  secrets: [],
  keys: [],
};

/** Whether a client is our own pages. */
export const isOwnClient = ({ clientId }: Pick<Client, "clientId">): boolean => clientId === ownClientId;

/**
 * Whether users of an organization are asked before an application of another one learns about them. First-party applications are the
 * instance's own.
 */
export const isForeign = (client: Client, owner: string): boolean =>
  !isOwnClient(client) && !client.oidc.firstParty && client.owner !== owner;
