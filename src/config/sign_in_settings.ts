import { hosts, nameServers, subnets, text, whole } from "./setting.ts";

/** Settings of sessions, and of sign-ins to applications. */
export const signInSettings = {
  sessionLifetimeSeconds: whole("SESSION_LIFETIME_SECONDS", 43_200, "Lifetime of a session"),
  freshSignInSeconds: whole(
    "FRESH_SIGN_IN_SECONDS",
    600,
    "How long after sign-in a session may change its user's email address, access tokens and factors",
  ),
  browserSessionIdleSeconds: whole(
    "BROWSER_SESSION_IDLE_SECONDS",
    43_200,
    "After this time without a sign-in, a browser asks for the password again",
  ),
  browserSessionLifetimeSeconds: whole(
    "BROWSER_SESSION_LIFETIME_SECONDS",
    2_592_000,
    "Longest time before a browser asks for the password again",
  ),
  codeLifetimeSeconds: whole(
    "CODE_LIFETIME_SECONDS",
    60,
    "Time in which an application must exchange a code for tokens",
    { most: 600 },
  ),
  pushedRequestsPerAddressPerMinute: whole(
    "PUSHED_REQUESTS_PER_ADDRESS_PER_MINUTE",
    120,
    "Authorization requests that applications without a secret or key may push from one address (for IPv6, one /64), to all nodes together",
    { most: 1_000_000 },
  ),
  deviceCodeLifetimeSeconds: whole(
    "DEVICE_CODE_LIFETIME_SECONDS",
    600,
    "Time in which a user must approve a device's sign-in",
    { most: 3_600 },
  ),
  devicePollSeconds: whole("DEVICE_POLL_SECONDS", 5, "Interval at which a device polls for its user's approval", {
    most: 60,
  }),
  deviceCodesPerAddressPerMinute: whole(
    "DEVICE_CODES_PER_ADDRESS_PER_MINUTE",
    60,
    "Device codes issued to one address (for IPv6, one /64) by all nodes together",
    { most: 1_000_000 },
  ),
  deviceGuessesPerAddressPerMinute: whole(
    "DEVICE_GUESSES_PER_ADDRESS_PER_MINUTE",
    20,
    "Wrong device codes that may be entered from one address (for IPv6, one /64), on all nodes together",
    { most: 1_000_000 },
  ),
  deviceGuessesPerMinute: whole(
    "DEVICE_GUESSES_PER_MINUTE",
    500,
    "Wrong device codes that may be entered from all addresses, on all nodes together",
    { most: 1_000_000 },
  ),
  oauthTokenLifetimeSeconds: whole(
    "OAUTH_TOKEN_LIFETIME_SECONDS",
    600,
    "Lifetime of the access tokens and ID tokens that applications get, unless an application has its own",
    { most: 86_400 },
  ),
  refreshIdleSeconds: whole(
    "REFRESH_IDLE_SECONDS",
    2_592_000,
    "A refresh token becomes invalid if it is not used for this long, unless its application has its own time",
  ),
  refreshLifetimeSeconds: whole(
    "REFRESH_LIFETIME_SECONDS",
    7_776_000,
    "Longest time for which an application gets new tokens without a new sign-in, unless it has its own",
  ),
  backchannelLogoutSeconds: whole(
    "BACKCHANNEL_LOGOUT_SECONDS",
    3_600,
    "How long to retry the delivery of a sign-out to an application that does not respond",
    { most: 604_800 },
  ),
  subscriptionRetrySeconds: whole(
    "SUBSCRIPTION_RETRY_SECONDS",
    259_200,
    "How long to retry the delivery of events to a subscription whose receiver accepts nothing",
    { most: 2_592_000 },
  ),
  domainNameServers: nameServers(
    "DOMAIN_NAME_SERVERS",
    "Name servers to ask for the TXT records of domains, instead of the system's: `192.0.2.1` or `[2001:db8::1]:53`, separated by commas",
  ),
  clientDocumentHosts: hosts(
    "CLIENT_DOCUMENT_HOSTS",
    "Hosts whose clients may identify themselves by a document of their own at APIs that accept that: `app.example`, separated by commas, or `*` for all; if empty, none",
  ),
  clientDocumentsPerAddressPerMinute: whole(
    "CLIENT_DOCUMENTS_PER_ADDRESS_PER_MINUTE",
    20,
    "Documents of clients that one node reads for one address (for IPv6, one /64), besides those that it knows already",
    { most: 1_000_000 },
  ),
  clientDocumentsPerHostPerMinute: whole(
    "CLIENT_DOCUMENTS_PER_HOST_PER_MINUTE",
    30,
    "Documents of clients that one node reads at one host, whatever the port, besides those that it knows already",
    { most: 1_000_000 },
  ),
  outgoingPrivateNetworks: subnets(
    "OUTGOING_PRIVATE_NETWORKS",
    "Private addresses from which keys of applications, and documents at hosts that `CLIENT_DOCUMENT_HOSTS` names, may be read and to which sign-outs and events may be sent: `10.0.0.5` or `10.0.0.0/8`, separated by commas",
  ),
  outgoingCaFile: text(
    "OUTGOING_CA_FILE",
    "",
    "Certificate authorities, in PEM, for reading keys and documents of applications and sending sign-outs and events, instead of those that Node trusts",
  ),
};
