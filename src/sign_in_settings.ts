import { subnets, text, whole } from "./setting.ts";

/** Settings of sessions, and of sign-ins to applications. */
export const signInSettings = {
  sessionLifetimeSeconds: whole("SESSION_LIFETIME_SECONDS", 43_200, "Life of a session after sign-in"),
  freshSignInSeconds: whole(
    "FRESH_SIGN_IN_SECONDS",
    600,
    "How long after its sign-in a session may change the factors of its user, then SIGN_IN_NOT_FRESH",
  ),
  browserSessionIdleSeconds: whole(
    "BROWSER_SESSION_IDLE_SECONDS",
    43_200,
    "A browser that signs in nowhere for this long has to enter the password again",
  ),
  browserSessionLifetimeSeconds: whole(
    "BROWSER_SESSION_LIFETIME_SECONDS",
    2_592_000,
    "Longest time until a browser has to enter the password again",
  ),
  codeLifetimeSeconds: whole(
    "CODE_LIFETIME_SECONDS",
    60,
    "Time that an application has to exchange the code of a sign-in for tokens",
    { most: 600 },
  ),
  oauthTokenLifetimeSeconds: whole(
    "OAUTH_TOKEN_LIFETIME_SECONDS",
    600,
    "Life of the access tokens and ID tokens that applications get by a sign-in",
    { most: 86_400 },
  ),
  refreshIdleSeconds: whole(
    "REFRESH_IDLE_SECONDS",
    2_592_000,
    "A refresh token that is not used for this long is worth nothing",
  ),
  refreshLifetimeSeconds: whole(
    "REFRESH_LIFETIME_SECONDS",
    7_776_000,
    "Longest time for which an application gets new tokens without another sign-in",
  ),
  backchannelLogoutSeconds: whole(
    "BACKCHANNEL_LOGOUT_SECONDS",
    3_600,
    "How long an application that does not answer is told again of a sign-out, then that is given up",
    { most: 604_800 },
  ),
  outgoingPrivateNetworks: subnets(
    "OUTGOING_PRIVATE_NETWORKS",
    "Private addresses at which keys of applications may be read, and sign-outs sent: `10.0.0.5` or `10.0.0.0/8`, separated by commas",
  ),
  outgoingCaFile: text(
    "OUTGOING_CA_FILE",
    "",
    "Authorities of the servers that have keys of applications or learn of sign-outs, in PEM, in place of those that Node trusts",
  ),
};
