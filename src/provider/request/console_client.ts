import { create } from "@bufbuild/protobuf";
import {
  OidcAppType,
  OidcAuthMethodType,
  OidcConfigurationSchema,
  OidcGrantType,
  OidcResponseType,
} from "../../../gen/postern/v1/application_pb.ts";
import { OauthError } from "../http/oauth_error.ts";
import type { Parameters } from "../http/parameters.ts";
import { consolePath } from "../http/paths.ts";
import type { ProviderSettings } from "../http/settings.ts";
import type { Client } from "./client.ts";

/** The client id of the console. No application has it, because their client ids contain no space. */
export const consoleClientId = "postern console";

export const isConsole = ({ clientId }: Pick<Client, "clientId">): boolean => clientId === consoleClientId;

/** The address at which the console would be served, and the parts that the port serves. */
export type ConsoleServing = { readonly settings: Pick<ProviderSettings, "portServes">; readonly issuer: () => string };

/** The issuer, at which the console is served; undefined if it is not. */
export const consoleIssuerOf =
  ({ settings, issuer }: ConsoleServing) =>
  (): string | undefined =>
    settings.portServes.includes("console") ? issuer() : undefined;

/** The only place that a sign-in to the console, or a sign-out there, leads to. */
export const consoleUri = (issuer: string): string => issuer + consolePath;

/** The console as a client: a page of ours that calls our API with tokens of its own kind. */
export const consoleClient = (issuer: string): Client => ({
  appId: "",
  clientId: consoleClientId,
  name: "Postern",
  owner: "",
  projectId: "",
  active: true,
  oidc: create(OidcConfigurationSchema, {
    redirectUris: [consoleUri(issuer)],
    postLogoutRedirectUris: [consoleUri(issuer)],
    responseTypes: [OidcResponseType.CODE],
    grantTypes: [OidcGrantType.AUTHORIZATION_CODE],
    appType: OidcAppType.USER_AGENT,
    authMethodType: OidcAuthMethodType.NONE,
  }),
  secrets: [],
  keys: [],
});

/** Fails for a request that the console's page does not send: without a state, anybody could sign a browser in to it as another user. */
export function refuseUnlikeConsole(parameters: Parameters): void {
  if (!parameters.get("state")) throw new OauthError("invalid_request", "state is missing");
  if (parameters.get("response_mode") !== undefined)
    throw new OauthError("invalid_request", "response_mode is not for the console");
  if (parameters.all("resource").length > 0)
    throw new OauthError("invalid_target", "the tokens of the console are for this API anyway");
}
