import { subnets, text, whole } from "./setting.ts";

/** Settings of sessions, and of sign-ins to applications. */
export const signInSettings = {
  sessionLifetimeSeconds: whole("SESSION_LIFETIME_SECONDS", 43_200, "Life of a session after sign-in"),
  freshSignInSeconds: whole(
    "FRESH_SIGN_IN_SECONDS",
    600,
    "How long after its sign-in a session may change the e-mail address, access tokens and factors of its user",
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
  deviceCodeLifetimeSeconds: whole(
    "DEVICE_CODE_LIFETIME_SECONDS",
    600,
    "Time that a user has to approve the sign-in of a device",
    { most: 3_600 },
  ),
  devicePollSeconds: whole(
    "DEVICE_POLL_SECONDS",
    5,
    "Time that a device waits between two questions whether its user approved",
    { most: 60 },
  ),
  deviceCodesPerAddressPerMinute: whole(
    "DEVICE_CODES_PER_ADDRESS_PER_MINUTE",
    60,
    "Codes that devices at one address, of IPv6 one /64, get on all nodes together",
    { most: 1_000_000 },
  ),
  deviceGuessesPerAddressPerMinute: whole(
    "DEVICE_GUESSES_PER_ADDRESS_PER_MINUTE",
    20,
    "Wrong codes of devices that are entered from one address, of IPv6 one /64, on all nodes together",
    { most: 1_000_000 },
  ),
  deviceGuessesPerMinute: whole(
    "DEVICE_GUESSES_PER_MINUTE",
    500,
    "Wrong codes of devices that are entered from all addresses, on all nodes together",
    { most: 1_000_000 },
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
