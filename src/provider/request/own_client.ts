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
import { isConsole } from "./console_client.ts";

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
  paths.accountInvitations,
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

/** Whether a client is a page of ours instead of an application: the account pages or the console. */
export const isBuiltIn = (client: Pick<Client, "clientId">): boolean => isOwnClient(client) || isConsole(client);

/**
 * Whether users of an organization give consent before an application learns about them: it belongs to another organization, or brings its
 * own document. First-party applications belong to the instance.
 */
export const isForeign = (client: ConsentClient, owner: string): boolean =>
  client.bringsDocument === true || (!isBuiltIn(client) && !client.oidc.firstParty && client.owner !== owner);

type ConsentClient = Pick<Client, "clientId" | "owner" | "oidc" | "bringsDocument">;
