import type { HttpRequest, Response } from "@postern/gateway";
import { authenticationClasses } from "../services/callers/authentication_class.ts";
import type { ClientSession } from "./browser_session.ts";
import { type OwnPath, ownClientId } from "./own_client.ts";
import { type Pages, stepOf } from "./pages.ts";
import { parametersIn } from "./parameters.ts";
import type { ProviderSettings } from "./settings.ts";

/** A request for one of our own pages. */
type OwnRequest = { readonly http: HttpRequest; readonly path: OwnPath };

/** Begins a sign-in that leads back to one of our own pages, as a request of an application does. */
export async function signInTo(
  pages: Pages,
  { http, path }: OwnRequest,
  more: Readonly<Record<string, string>>,
): Promise<Response> {
  const request = { client_id: ownClientId, redirect_uri: path, response_type: "code", ...more };
  const query = new URLSearchParams(request).toString();
  const parameters = parametersIn(query);
  return pages.proceed(await pages.prove(parameters, http), stepOf(pages.jar, http, { parameters, query }));
}

/** The parameters by which the user of a session signs in again, if that was too long ago or without the factor. */
export const freshSignIn = ({ username, hasFactor }: ClientSession, { freshSignInSeconds }: ProviderSettings) => ({
  max_age: String(freshSignInSeconds),
  login_hint: username,
  ...(hasFactor ? { acr_values: multiFactor } : {}),
});

const [, multiFactor] = authenticationClasses;

/** Whether the user came back from such a sign-in without one. */
export const isCancelled = ({ query }: HttpRequest): boolean => parametersIn(query).get("error") !== undefined;
