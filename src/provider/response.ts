import type { Response } from "@postern/gateway";
import { OidcAppType } from "../../gen/postern/v1/application_pb.ts";
import type { Language } from "../messages/language.ts";
import { pageText } from "../messages/page.ts";
import type { ProvenRequest } from "./authorization_request.ts";
import { deviceDone, deviceFailed } from "./device_form.ts";
import { paths } from "./discovery.ts";
import { html, pageResponse } from "./html.ts";
import type { OauthError } from "./oauth_error.ts";
import { formActionOf, withQuery } from "./redirect_uri.ts";

/** The parameters of a response by their names. */
export type ResponseParameters = Readonly<Record<string, string>>;

/** The issuer, the language of pages, and the cookies that a response sets. */
export type ResponseContext = {
  readonly issuer: string;
  readonly language: Language;
  readonly cookies: readonly string[];
};

/** Sends the browser back with parameters, state and issuer (RFC 9207). */
export function authorizationResponse(
  request: ProvenRequest,
  parameters: ResponseParameters,
  context: ResponseContext,
): Response {
  if (request.device) return deviceDone(request, context);
  const { state, redirectUri, responseMode } = request;
  const all = { ...parameters, ...(state === undefined ? {} : { state }), iss: context.issuer };
  if (responseMode === "form_post") return formPost(request, all, context);
  const query = new URLSearchParams(all);
  const location = responseMode === "fragment" ? `${redirectUri}#${query}` : withQuery(redirectUri, query);
  return hasSuccessPage(request, parameters) ? successPage(request, location, context) : redirect(location, context);
}

/** Sends the browser back with an error. */
export const errorResponse = (request: ProvenRequest, error: OauthError, context: ResponseContext): Response =>
  request.device
    ? deviceFailed(request, error, context)
    : authorizationResponse(request, { error: error.code, error_description: error.description }, context);

/** RFC 9700, 4.12: by 303 alone the next request surely has no body. */
export const redirect = (location: string, { cookies }: Pick<ResponseContext, "cookies">): Response => ({
  status: 303,
  headers: {
    location: inAscii(location),
    "referrer-policy": "no-referrer",
    ...(cookies.length > 0 ? { "set-cookie": cookies } : {}),
  },
});

// A header holds no other characters; browsers read an encoded host as they read the host itself (WHATWG URL, 3.5).
const inAscii = (uri: string): string => uri.replace(/[^\x21-\x7e]+/g, encodeURIComponent);

const hasSuccessPage = ({ client: { oidc } }: ProvenRequest, parameters: ResponseParameters): boolean =>
  oidc.appType === OidcAppType.NATIVE && !oidc.skipNativeAppSuccessPage && parameters.error === undefined;

function successPage(
  { client, redirectUri, brand }: ProvenRequest,
  location: string,
  context: ResponseContext,
): Response {
  const { language, cookies } = context;
  const application = client.name;
  return pageResponse({
    language,
    cookies,
    brand,
    title: pageText("signed_in", language),
    formAction: formActionOf(redirectUri),
    head: html`<meta http-equiv="refresh" content="0;url=${location}">`,
    body: html`<p>${pageText("return_text", language, { application })}</p>
<a class="button" href="${location}" rel="noreferrer">${pageText("open_application", language, { application })}</a>`,
  });
}

/** A form that a script sends, or a click where none runs (OAuth 2.0 Form Post Response Mode). */
function formPost(request: ProvenRequest, parameters: ResponseParameters, context: ResponseContext): Response {
  const { client, redirectUri, brand } = request;
  const { language, cookies } = context;
  const application = client.name;
  const fields = Object.entries(parameters).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  return pageResponse({
    language,
    cookies,
    brand,
    title: pageText(parameters.error === undefined ? "signed_in" : "error", language),
    formAction: formActionOf(redirectUri),
    script: paths.formPost,
    body: html`<form method="post" action="${redirectUri}">
${fields}
<button>${pageText("open_application", language, { application })}</button>
</form>`,
  });
}
