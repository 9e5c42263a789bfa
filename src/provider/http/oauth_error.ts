/** The error codes of RFC 6749, RFC 6750, RFC 8628, RFC 8707 and OpenID Connect Core 1.0 that we send. */
export type OauthErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_scope"
  | "invalid_target"
  | "invalid_token"
  | "insufficient_scope"
  | "unauthorized_client"
  | "unsupported_grant_type"
  | "unsupported_response_type"
  | "access_denied"
  | "authorization_pending"
  | "slow_down"
  | "expired_token"
  | "login_required"
  | "interaction_required"
  | "consent_required"
  | "account_selection_required"
  | "unmet_authentication_requirements"
  | "request_not_supported"
  | "request_uri_not_supported"
  | "registration_not_supported"
  | "server_error"
  | "temporarily_unavailable";

/** A refusal in the words of OAuth; its description is for the developer of the application. */
export class OauthError extends Error {
  override readonly name = "OauthError";
  readonly code: OauthErrorCode;
  readonly description: string;
  /** When the same request may succeed, in seconds from now. */
  readonly retrySeconds: number | undefined;

  constructor(code: OauthErrorCode, description: string, retrySeconds?: number) {
    super(`${code}: ${description}`);
    this.code = code;
    this.description = description;
    this.retrySeconds = retrySeconds;
  }
}

/** The refusal of a client that did not prove who it is; the log says what the client itself is not told. */
export class ClientRefused extends OauthError {
  constructor(forLog?: string) {
    super("invalid_client", "the client is unknown, inactive, or did not authenticate as registered");
    if (forLog !== undefined) this.cause = new Error(forLog);
  }
}

/** The refusal of a request that has no access token where it needs one. */
export class TokenMissing extends OauthError {
  constructor() {
    super("invalid_token", "there is no access token");
  }
}
