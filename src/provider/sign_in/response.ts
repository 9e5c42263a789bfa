import type { Response } from "@postern/gateway";
import { OidcAppType } from "../../../gen/postern/v1/application_pb.ts";
import { pageText } from "../../messages/page.ts";
import type { OauthError } from "../http/oauth_error.ts";
import { paths } from "../http/paths.ts";
import { withQuery } from "../http/web_uri.ts";
import { hidden, html, pageResponse } from "../pages/html.ts";
import type { Look } from "../pages/look.ts";
import { leadingPage, onward } from "../pages/onward.ts";
import type { ProvenRequest } from "../request/authorization_request.ts";
import { isOnLoopback } from "../request/document_client.ts";
import type { ResponseParameters } from "../tokens/response_parameters.ts";
import { deviceDone, deviceFailed } from "./device_form.ts";

/** The issuer, the look of pages, the cookies to set, and whether the response answers a form. */
export type ResponseContext = Look & {
  readonly cookies: readonly string[];
  readonly issuer: string;
  readonly byForm: boolean;
};

/** Sends the browser back with parameters, state and issuer (RFC 9207). */
export function authorizationResponse(
  request: ProvenRequest,
  parameters: ResponseParameters,
  context: ResponseContext,
): Response {
  if (request.device) return deviceDone(request, context);
  const { state, redirectUri, responseMode, client } = request;
  const all = { ...parameters, ...(state === undefined ? {} : { state }), iss: context.issuer };
  if (responseMode === "form_post") return formPost(request, all, context);
  const query = new URLSearchParams(all);
  const location = responseMode === "fragment" ? `${redirectUri}#${query}` : withQuery(redirectUri, query);
  const to = { ...context, location, application: client.name };
  return hasSuccessPage(request, parameters) ? leadingPage(to, "signed_in") : onward(to);
}

export function errorResponse(request: ProvenRequest, error: OauthError, context: ResponseContext): Response {
  if (request.device) return deviceFailed(request, error, context);
  return authorizationResponse(request, { error: error.code, error_description: error.description }, context);
}

/**
 * Whether anybody could be this client, and no page has warned of that: a program on the user's device, or one with a document that nobody
 * has allowed yet (RFC 9700, 4.11.2). A link to us then leads nobody on to it.
 */
export const isUnseen = ({ client, device }: ProvenRequest): boolean =>
  !device && (isOnLoopback(client) || (client.bringsDocument === true && client.appId === ""));

const hasSuccessPage = ({ client: { oidc } }: ProvenRequest, parameters: ResponseParameters): boolean =>
  oidc.appType === OidcAppType.NATIVE && !oidc.skipNativeAppSuccessPage && parameters.error === undefined;

/** A form submitted by a script, or by a click if scripts are off (OAuth 2.0 Form Post Response Mode). */
function formPost(request: ProvenRequest, parameters: ResponseParameters, context: ResponseContext): Response {
  const { client, redirectUri } = request;
  const { language } = context;
  const application = client.name;
  const fields = Object.entries(parameters).map(([name, value]) => hidden(name, value));
  return pageResponse(context, {
    title: pageText(parameters.error === undefined ? "signed_in" : "error", language),
    // The application may answer the form with a redirect to anywhere, which our policy cannot foresee.
    formAction: null,
    keepsOpener: true,
    script: paths.formPost,
    body: html`<form method="post" action="${redirectUri}">
${fields}
<button>${pageText("open_application", language, { application })}</button>
</form>`,
  });
}
