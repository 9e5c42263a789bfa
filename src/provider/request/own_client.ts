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

/** The client id of our own pages. No application has it, because their client ids contain no space. */
export const ownClientId = "account pages";

export const accountPaths = [
  paths.account,
  paths.accountProfile,
  paths.accountEmail,
  paths.accountPhone,
  paths.accountPassword,
  paths.accountFactors,
  paths.accountSessions,
  paths.accountApplications,
  paths.accountDelete,
] as const;

const ownPaths = [...accountPaths, paths.addFactor, paths.organizationInvitation] as const;

/** A path of our own pages that a sign-in can lead to. */
export type OwnPath = (typeof ownPaths)[number];

/** The account pages as a client: users sign in to them as to an application, but no tokens are issued. */
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

export const isOwnClient = ({ clientId }: Pick<Client, "clientId">): boolean => clientId === ownClientId;

/**
 * Whether users of an organization are asked for consent before another organization's application learns about them. First-party
 * applications belong to the instance.
 */
export const isForeign = (client: Pick<Client, "clientId" | "owner" | "oidc">, owner: string): boolean =>
  !isOwnClient(client) && !client.oidc.firstParty && client.owner !== owner;
