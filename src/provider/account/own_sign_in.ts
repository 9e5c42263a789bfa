import type { HttpRequest, Response } from "@postern/gateway";
import { authenticationClasses } from "../../services/callers/authentication_class.ts";
import { organizationScope } from "../../services/callers/scopes.ts";
import { parametersIn } from "../http/parameters.ts";
import type { ProviderSettings } from "../http/settings.ts";
import { type OwnPath, ownClientId } from "../request/own_client.ts";
import type { ClientSession } from "../sign_in/browser_session.ts";
import { stepOf } from "../sign_in/browser_step.ts";
import type { SignInSteps } from "../sign_in/steps.ts";

/** A request for one of our own pages. */
type OwnRequest = { readonly http: HttpRequest; readonly path: OwnPath };

/** Begins a sign-in that returns to one of our own pages, the way an application does. */
export async function signInTo(
  steps: SignInSteps,
  { http, path }: OwnRequest,
  more: Readonly<Record<string, string>>,
): Promise<Response> {
  const request = { client_id: ownClientId, redirect_uri: path, response_type: "code", ...more };
  const query = new URLSearchParams(request).toString();
  const parameters = parametersIn(query);
  return steps.proceed(await steps.prove(parameters, http), stepOf(steps.jar, http, { parameters, query }));
}

/** The parameters with which a session's user signs in again, if the last sign-in was too long ago or lacked the factor. */
export const freshSignIn = (
  { username, owner, hasFactor }: ClientSession,
  { freshSignInSeconds }: ProviderSettings,
) => ({
  // Names the organization whose page it is.
  scope: organizationScope + owner,
  max_age: String(freshSignInSeconds),
  login_hint: username,
  ...(hasFactor ? { acr_values: multiFactor } : {}),
});

const [, multiFactor] = authenticationClasses;

/** Whether the user cancelled such a sign-in. */
export const isCancelled = ({ query }: HttpRequest): boolean => parametersIn(query).get("error") !== undefined;
