/** A finding that is expected, with the reason why it stays. */
export type Listed = {
  readonly module: string;
  readonly result: "WARNING" | "REVIEW" | "SKIPPED";
  readonly condition: string;
  readonly reason: string;
  /** The pages that the browser may have seen, in order, where a person would look at a picture of them. */
  readonly pages?: readonly string[];
};

const requestObjects = "oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported";

// With form_post the way back is a page of ours, with a form that sends itself.
const twoSignIns = ["200 password, 200 password", "200 password, 200 form, 200 password, 200 form"];
const sentBack = ["", "200 form"];
const confirmed = ["200 password, 200 sign_out, 200 page"];

/** The findings that are expected. */
export const listed: readonly Listed[] = [
  {
    module: "oidcc-server",
    result: "WARNING",
    condition: "EnsureIdTokenDoesNotContainNonRequestedClaims",
    reason: "an ID token names the organization that its user signed in for, by a claim with a name of our own",
  },
  {
    module: "oidcc-scope-profile",
    result: "WARNING",
    condition: "VerifyScopesReturnedInUserInfoClaims",
    reason: "a user has no nickname, picture, gender, birthdate and the like; Core 1.0, 5.3.2 has them left out",
  },
  {
    module: "oidcc-scope-profile",
    result: "WARNING",
    condition: "VerifyScopesReturnedInAuthorizationEndpointIdToken",
    reason: "as in userinfo",
  },
  {
    module: "oidcc-scope-all",
    result: "WARNING",
    condition: "VerifyScopesReturnedInUserInfoClaims",
    reason: "the scope `profile` is among them: as in oidcc-scope-profile",
  },
  {
    module: "oidcc-scope-all",
    result: "WARNING",
    condition: "VerifyScopesReturnedInAuthorizationEndpointIdToken",
    reason: "the scope `profile` is among them: as in oidcc-scope-profile",
  },
  {
    module: "oidcc-claims-essential",
    result: "WARNING",
    condition: "EnsureUserInfoContainsName",
    reason: "the parameter `claims` is optional, and discovery says that it is not supported",
  },
  {
    module: "oidcc-claims-essential",
    result: "WARNING",
    condition: "EnsureIdTokenContainsName",
    reason: "the parameter `claims` is optional, and discovery says that it is not supported",
  },
  {
    module: requestObjects,
    result: "SKIPPED",
    condition: requestObjects,
    reason: "request objects are optional; the refusal is the one that the specification has for it",
  },
  {
    module: "oidcc-ensure-request-object-with-redirect-uri",
    result: "REVIEW",
    condition: "ExpectRedirectUriErrorPage",
    reason: "a page says that the redirect URI is not registered",
    pages: ["400 redirect_uri_unknown"],
  },
  {
    module: "oidcc-ensure-registered-redirect-uri",
    result: "REVIEW",
    condition: "ExpectRedirectUriErrorPage",
    reason: "a page says that the redirect URI is not registered",
    pages: ["400 redirect_uri_unknown"],
  },
  {
    module: "oidcc-response-type-missing",
    result: "REVIEW",
    condition: "ExpectResponseTypeMissingErrorPage",
    reason: "no page is needed: the error goes to the application, and the module judges it there",
    pages: sentBack,
  },
  {
    module: "oidcc-ensure-request-without-nonce-fails",
    result: "REVIEW",
    condition: "ExpectRequestMissingNonceErrorPage",
    reason: "no page is needed: the error goes to the application, and the module judges it there",
    pages: sentBack,
  },
  {
    module: "oidcc-prompt-login",
    result: "REVIEW",
    condition: "ExpectSecondLoginPage",
    reason: "the password is asked for a second time",
    pages: twoSignIns,
  },
  {
    module: "oidcc-max-age-1",
    result: "REVIEW",
    condition: "ExpectSecondLoginPage",
    reason: "the password is asked for a second time",
    pages: twoSignIns,
  },
  {
    module: "oidcc-rp-initiated-logout-bad-post-logout-redirect-uri",
    result: "REVIEW",
    condition: "ExpectPostLogoutRedirectUriNotRegisteredErrorPage",
    reason: "a page says that the URI is not registered",
    pages: ["200 password, 400 logout_uri_unknown"],
  },
  {
    module: "oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri",
    result: "REVIEW",
    condition: "ExpectPostLogoutRedirectUriNotRegisteredErrorPage",
    reason: "a page says that the URI is not registered",
    pages: ["200 password, 400 logout_uri_unknown"],
  },
  {
    module: "oidcc-rp-initiated-logout-modified-id-token-hint",
    result: "REVIEW",
    condition: "ExpectInvalidIdTokenHintErrorPage",
    reason: "the module takes a page that confirms and leads nowhere as well as an error",
    pages: confirmed,
  },
  {
    module: "oidcc-rp-initiated-logout-bad-id-token-hint",
    result: "REVIEW",
    condition: "ExpectInvalidIdTokenHintErrorPage",
    reason: "the module takes a page that confirms and leads nowhere as well as an error",
    pages: confirmed,
  },
  {
    module: "oidcc-rp-initiated-logout-no-id-token-hint",
    result: "REVIEW",
    condition: "ExpectIdTokenHintRequiredErrorPage",
    reason: "the module takes a page that confirms and leads nowhere as well as an error",
    pages: confirmed,
  },
  {
    module: "oidcc-rp-initiated-logout-no-params",
    result: "REVIEW",
    condition: "ExpectSuccessfulLogoutPage",
    reason: "a page confirms, and another says that the user is signed out",
    pages: confirmed,
  },
  {
    module: "oidcc-rp-initiated-logout-only-state",
    result: "REVIEW",
    condition: "ExpectSuccessfulLogoutPage",
    reason: "a page confirms, and another says that the user is signed out",
    pages: confirmed,
  },
  {
    module: "oidcc-rp-initiated-logout-no-post-logout-redirect-uri",
    result: "REVIEW",
    condition: "ExpectSuccessfulLogoutPage",
    reason: "a page says that the user is signed out",
    pages: ["200 password, 200 page"],
  },
  {
    module: "oidcc-backchannel-rp-initiated-logout",
    result: "WARNING",
    condition: "EnsureIncomingTls12WithSecureCipherOrTls13",
    reason: "the suite reads the version of TLS from a header of a proxy, and runs without one",
  },
];
