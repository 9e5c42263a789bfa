/** What a specification requires of a provider, in words of ours, and the tests that show it. */
export type Requirement = {
  readonly section: string;
  readonly says: string;
  /** The modules of the suite that ask for it. */
  readonly modules?: readonly string[];
  readonly shown: readonly Shown[];
};

/** A file of tests, and what is in it: the name of a test, of a row of its table, or of a scene. */
type Shown = readonly [file: string, name: string];

const attacks = "test/provider/attacks.test.ts";
const table = "test/provider/attack_table.test.ts";
const code = "test/provider/tokens/code.test.ts";
const discovery = "test/provider/tokens/discovery.test.ts";
const endSession = "test/provider/logout/end_session.test.ts";
const backChannel = "test/provider/logout/back_channel_logout.test.ts";
const fields = "test/provider/fields.test.ts";
const asked = "test/provider/peer/scenes_authorize.ts";
const sessions = "test/provider/peer/scenes_session.ts";
const tokens = "test/provider/peer/scenes_tokens.ts";
const scopes = "test/provider/tokens/address.test.ts";
const signIn = "test/provider/sign_in/sign_in.test.ts";

const clientOfLibrary = "openid-client signs a user in, reads its claims, refreshes, asks about a token and revokes it";
const described = "both descriptions are the same, name this issuer, and each endpoint that they name is there";
const exactly = "redirectUris: compared exactly, and nothing is sent anywhere else";
const unhinted =
  "without a hint of ours a page asks, and leads nowhere else: none, a client_id, one that somebody else signed, an access token";
const signedOut =
  "the end_session URL of openid-client signs out, gives the state back, and leaves what is for a user who is away";

const basic: readonly Requirement[] = [
  {
    section: "Core 1.0, 3.1",
    says: "The code flow gives an ID token of the user, for the client, with the nonce of the request.",
    modules: ["oidcc-server"],
    shown: [
      [signIn, clientOfLibrary],
      [sessions, "the header and the claims of an ID token"],
    ],
  },
  {
    section: "Core 1.0, 3.1.2.2",
    says: "A request without response_type is an error.",
    modules: ["oidcc-response-type-missing"],
    shown: [[asked, "no response_type"]],
  },
  {
    section: "Core 1.0, 2; 10.1",
    says: "ID tokens are signed by a published key that they name, RS256 unless the client is registered for another algorithm.",
    modules: ["oidcc-idtoken-signature", "oidcc-idtoken-unsigned"],
    shown: [
      [fields, "idTokenAlgorithm: RS256 unless the application asks for ES256"],
      [discovery, "keys are public halves alone, of both algorithms, each named"],
    ],
  },
  {
    section: "Core 1.0, 5.3.1",
    says: "Userinfo takes an access token by GET and by POST, in the header and in a form.",
    modules: ["oidcc-userinfo-get", "oidcc-userinfo-post-header", "oidcc-userinfo-post-body"],
    shown: [[attacks, "userinfo takes a token by header or form, never twice and never in the query"]],
  },
  {
    section: "Core 1.0, 3.1.2.1",
    says: "A request for a code needs no nonce.",
    modules: ["oidcc-ensure-request-without-nonce-succeeds-for-code-flow"],
    shown: [
      [asked, "a request without a nonce"],
      [tokens, "a code for tokens without a nonce"],
    ],
  },
  {
    section: "Core 1.0, 5.4",
    says: "Each scope gives its claims, those that the user has, and no other.",
    modules: [
      ...["oidcc-scope-profile", "oidcc-scope-email", "oidcc-scope-address", "oidcc-scope-phone", "oidcc-scope-all"],
    ],
    shown: [
      [tokens, "userinfo with the scope profile"],
      [scopes, "the scope address gives the postal address, by the names of OpenID Connect, and no other scope does"],
      [scopes, "the scopes email and phone each give their claim and whether it is proven, and no other scope does"],
    ],
  },
  {
    section: "Core 1.0, 3.1.2.1",
    says: "The order of scopes means nothing.",
    modules: ["oidcc-ensure-other-scope-order-succeeds"],
    shown: [[asked, "scopes in another order"]],
  },
  {
    section: "Core 1.0, 3.1.2.1",
    says: "display, claims_locales and classes of authentication that nobody knows stop no request.",
    modules: [
      ...["oidcc-display-page", "oidcc-display-popup", "oidcc-claims-locales"],
      "oidcc-ensure-request-with-acr-values-succeeds",
    ],
    shown: [
      [asked, "display=page"],
      [asked, "display=popup"],
      [asked, "the claims in another language"],
      ["test/provider/sign_in/step_up.test.ts", "acr_values with others"],
    ],
  },
  {
    section: "Core 1.0, 3.1.2.1",
    says: "prompt=login and a max_age that is over ask for the password again, a max_age that is not over does not, and auth_time says when it was.",
    modules: ["oidcc-prompt-login", "oidcc-max-age-1", "oidcc-max-age-10000"],
    shown: [
      [sessions, "prompt=login with a session"],
      [sessions, "max_age=10000 with a session"],
      [attacks, "prompt login, max_age and an expired hint"],
      [
        "test/provider/sign_in/step_up.test.ts",
        "prompt login and max_age ask for password and factor again, and auth_time is that of the new sign-in",
      ],
    ],
  },
  {
    section: "Core 1.0, 3.1.2.1; 3.1.2.6",
    says: "prompt=none shows no page: it gives a code to a user who is signed in, and else an error.",
    modules: ["oidcc-prompt-none-not-logged-in", "oidcc-prompt-none-logged-in"],
    shown: [
      [asked, "prompt=none without a session"],
      [sessions, "prompt=none with a session"],
    ],
  },
  {
    section: "RFC 6749, 3.1",
    says: "A parameter that the provider does not know is ignored.",
    modules: ["oidcc-ensure-request-with-unknown-parameter-succeeds"],
    shown: [[asked, "a parameter that is not known"]],
  },
  {
    section: "Core 1.0, 3.1.2.1",
    says: "The hint of a user lets that user sign in silently, and nobody else; a login hint names the user on the page.",
    modules: ["oidcc-id-token-hint", "oidcc-login-hint"],
    shown: [
      [sessions, "prompt=none with an id_token_hint of the user"],
      [attacks, "the hint of another user or another client signs nobody in silently"],
      ["test/provider/sign_in/accounts.test.ts", "login_hint and id_token_hint pick the account"],
    ],
  },
  {
    section: "Core 1.0, 3.1.2.1",
    says: "Pages are in the first language of ui_locales that the provider has.",
    modules: ["oidcc-ui-locales"],
    shown: [
      [
        "test/provider/pages/language.test.ts",
        "a language that is picked on a page goes before those of the application and of the browser, and stays",
      ],
    ],
  },
  {
    section: "RFC 6749, 4.1.2",
    says: "A code counts once; a second exchange fails, and ends what the first one gave.",
    modules: ["oidcc-codereuse", "oidcc-codereuse-30seconds"],
    shown: [
      [code, "of ten presentations of a code at once to two nodes one succeeds, and the reuse ends what it gave"],
      [tokens, "a code that comes again, and what it gave"],
    ],
  },
  {
    section: "Core 1.0, 3.1.2.1",
    says: "A redirect URI must be one that is registered, by its characters, also where a request object names it.",
    modules: ["oidcc-ensure-registered-redirect-uri", "oidcc-ensure-request-object-with-redirect-uri"],
    shown: [
      [fields, exactly],
      [
        "test/provider/request/request_object.test.ts",
        "a request object leads to no place, and to no client, that the query does not name",
      ],
    ],
  },
  {
    section: "Core 1.0, 3.1.2.1",
    says: "A request may come by POST.",
    modules: ["oidcc-ensure-post-request-succeeds"],
    shown: [
      [sessions, "an authorization request by POST"],
      [attacks, "authorize by POST leads to the same page by 303"],
    ],
  },
  {
    section: "Core 1.0, 9",
    says: "A secret counts in the header or in the form, whichever the client is registered for.",
    modules: ["oidcc-server-client-secret-post"],
    shown: [[fields, "authMethodType: the token endpoint takes the registered method and no other"]],
  },
  {
    section: "Core 1.0, 3.1.2.6; 6",
    says: "Request objects, by value or by reference, are refused by the errors that there are for it, as discovery says.",
    modules: [
      "oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported",
      "oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported",
    ],
    shown: [
      [asked, "a request object"],
      [asked, "a request_uri"],
    ],
  },
  {
    section: "Core 1.0, 5.5",
    says: "The parameter claims stops no request, though discovery says that it is not supported.",
    modules: ["oidcc-claims-essential"],
    shown: [["test/provider/sign_in/step_up.test.ts", "claims without acr"]],
  },
  {
    section: "Core 1.0, 12",
    says: "A refresh token gives new tokens of the same user, and none to another client.",
    modules: ["oidcc-refresh-token"],
    shown: [
      [signIn, clientOfLibrary],
      [tokens, "a refresh at a client without the grant type"],
    ],
  },
  {
    section: "RFC 7636, 4.6",
    says: "A code with a challenge is exchanged by its verifier alone.",
    modules: ["oidcc-ensure-request-with-valid-pkce-succeeds"],
    shown: [
      [signIn, clientOfLibrary],
      [code, "a code is worth nothing at another client, with another URI or verifier, or without one"],
    ],
  },
];

const implicit: readonly Requirement[] = [
  {
    section: "Core 1.0, 3.2.2.1",
    says: "An ID token from the authorization endpoint needs a nonce.",
    modules: ["oidcc-ensure-request-without-nonce-fails"],
    shown: [[asked, "an ID token without a nonce"]],
  },
  {
    section: "Core 1.0, 3.2.2.5",
    says: "It comes in the fragment, alone or with an access token, which it names by at_hash.",
    shown: [
      [sessions, "an ID token from the authorization endpoint"],
      [signIn, "an ID token names the access token that comes with it: %s"],
    ],
  },
];

const formPost: readonly Requirement[] = [
  {
    section: "Form Post Response Mode, 2; 4",
    says: "With response_mode=form_post, a form posts all parameters of the response to the redirect URI, errors too; nothing keeps it in a cache.",
    shown: [
      [sessions, "a response by form_post"],
      [sessions, "an error by form_post"],
      [table, "whatever page is shown, no other site frames it or reads it, and nobody keeps it"],
    ],
  },
];

/** The requirements of the plans in `plans.ts`, by the names of these. */
export const ofPlans: Readonly<Record<string, readonly Requirement[]>> = {
  "oidcc-config-certification-test-plan": [
    {
      section: "Discovery 1.0, 3; 4.3",
      says: "The description names the issuer as its URL does, endpoints that are there, what it must list, and public keys of each algorithm.",
      modules: ["oidcc-discovery-endpoint-verification"],
      shown: [
        [discovery, described],
        [discovery, "keys are public halves alone, of both algorithms, each named"],
        ["test/provider/peer/peer.test.ts", "the descriptions of both providers differ as listed"],
      ],
    },
  ],
  "oidcc-basic-certification-test-plan": basic,
  "oidcc-formpost-basic-certification-test-plan": formPost,
  "oidcc-implicit-certification-test-plan": implicit,
  "oidcc-formpost-implicit-certification-test-plan": formPost,
  "oidcc-rp-initiated-logout-certification-test-plan": [
    {
      section: "RP-Initiated Logout 1.0, 2; 2.1",
      says: "Discovery names the endpoint. By GET or POST and with a hint, it ends the session, and leads to the URI with the state, if there is one.",
      modules: [
        "oidcc-rp-initiated-logout-discovery-endpoint-verification",
        "oidcc-rp-initiated-logout",
        "oidcc-rp-initiated-logout-no-state",
      ],
      shown: [
        [discovery, described],
        [endSession, signedOut],
        [endSession, "a hint that expired counts, and so does a session that nobody used for a long time"],
      ],
    },
    {
      section: "RP-Initiated Logout 1.0, 2",
      says: "A URI that is not registered by its characters leads nowhere.",
      modules: [
        "oidcc-rp-initiated-logout-bad-post-logout-redirect-uri",
        "oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri",
      ],
      shown: [
        [endSession, "a URI that is not listed"],
        [endSession, "a URI with a query more"],
      ],
    },
    {
      section: "RP-Initiated Logout 1.0, 2; 6",
      says: "Without a hint of the provider's own, the user is asked, and the browser led nowhere.",
      modules: [
        "oidcc-rp-initiated-logout-modified-id-token-hint",
        "oidcc-rp-initiated-logout-bad-id-token-hint",
        "oidcc-rp-initiated-logout-no-id-token-hint",
        "oidcc-rp-initiated-logout-no-params",
        "oidcc-rp-initiated-logout-only-state",
      ],
      shown: [
        [endSession, unhinted],
        [endSession, "who cancels stays signed in"],
      ],
    },
    {
      section: "RP-Initiated Logout 1.0, 3",
      says: "Without a URI, a page says that the user is signed out.",
      modules: ["oidcc-rp-initiated-logout-no-post-logout-redirect-uri"],
      shown: [
        [
          endSession,
          "without a session nothing is asked: the browser goes where a hint proves, else to the page that says so",
        ],
      ],
    },
  ],
  "oidcc-backchannel-rp-initiated-logout-certification-test-plan": [
    {
      section: "Back-Channel Logout 1.0, 2.1; 2.4; 2.5",
      says: "Discovery says so, and each application of an ended session gets a logout token of its own: signed, for itself alone, with sid and the event, without a nonce.",
      modules: ["oidcc-backchannel-logout-discovery-endpoint-verification", "oidcc-backchannel-rp-initiated-logout"],
      shown: [
        [backChannel, "each application that got tokens in the session gets a logout token, and no other"],
        [backChannel, "a logout token is no hint, and no token of anything else"],
      ],
    },
  ],
};
