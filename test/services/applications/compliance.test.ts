import { create } from "@bufbuild/protobuf";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import {
  OidcAppType,
  OidcAuthMethodType,
  type OidcConfiguration,
  OidcConfigurationSchema,
  OidcGrantType,
  OidcResponseType,
} from "../../../gen/postern/v1/application_pb.ts";
import { text } from "../../../src/messages/catalogue.ts";
import { complianceOf, problemsOf } from "../../../src/services/applications/compliance.ts";
import { isLoopback, originFault, originOf } from "../../../src/services/applications/web_origin.ts";

type Configured = Partial<Omit<OidcConfiguration, "$typeName" | "$unknown">>;

const { WEB, USER_AGENT, NATIVE } = OidcAppType;
const { AUTHORIZATION_CODE, IMPLICIT, REFRESH_TOKEN, DEVICE_CODE } = OidcGrantType;
const { BASIC, POST, NONE, PRIVATE_KEY_JWT } = OidcAuthMethodType;

const sound = { grantTypes: [AUTHORIZATION_CODE], redirectUris: ["https://app.example/callback"] };

const configured = (changes: Configured) => create(OidcConfigurationSchema, { ...sound, ...changes });
const placesOf = (changes: Configured) =>
  Object.fromEntries(problemsOf(configured(changes)).map(({ key, fields }) => [key, fields.map(({ path }) => path)]));
const keysOf = (changes: Configured) => Object.keys(placesOf(changes));

test("a web application with the code flow and an https redirect URI is compliant", () => {
  expect(complianceOf(configured({}), "en")).toEqual({ noneCompliant: false, complianceProblems: [] });
});

test("an application that asks for access tokens in URLs is told that RFC 9700 advises against it", () => {
  const [responseTypes, grantTypes] = [[OidcResponseType.ID_TOKEN, OidcResponseType.ID_TOKEN_TOKEN], [IMPLICIT]];
  const places = { IMPLICIT_ACCESS_TOKEN: ["responseTypes[1]"] };
  expect(placesOf({ responseTypes, grantTypes, devMode: true })).toEqual(places);
});

/**
 * One row a kind of redirect URI: its problems on each type of application, beside the flow's, and those of the implicit flow
 * and of a public web application with the code flow.
 */
const kinds = [
  { kind: "https", uris: ["https://app.example/cb"], web: [], agent: [], native: [], implicit: [], open: [] },
  {
    kind: "http",
    uris: ["http://app.example/cb"],
    web: [],
    agent: ["HTTP_ON_USER_AGENT"],
    native: ["NATIVE_HTTP_NOT_LOOPBACK"],
    implicit: [WEB, USER_AGENT, NATIVE],
    open: ["HTTP_ON_PUBLIC_WEB"],
  },
  {
    kind: "http on loopback",
    uris: ["http://127.0.0.1:7777/cb"],
    web: [],
    agent: ["HTTP_ON_USER_AGENT"],
    native: [],
    implicit: [WEB, USER_AGENT],
    open: ["HTTP_ON_PUBLIC_WEB"],
  },
  {
    kind: "custom",
    uris: ["com.example.app:/cb"],
    web: ["CUSTOM_SCHEME_ON_WEB"],
    agent: ["CUSTOM_SCHEME_ON_USER_AGENT"],
    native: [],
    implicit: [WEB, USER_AGENT, NATIVE],
    open: [],
  },
  {
    kind: "custom, without a dot",
    uris: ["app:/cb"],
    web: ["CUSTOM_SCHEME_ON_WEB"],
    agent: ["CUSTOM_SCHEME_ON_USER_AGENT"],
    native: ["NATIVE_SCHEME_WITHOUT_DOT"],
    implicit: [WEB, USER_AGENT, NATIVE],
    open: [],
  },
  ...[
    { kind: "user information", uris: ["https://ada:secret@app.example/cb"], key: "REDIRECT_URI_USER_INFORMATION" },
    { kind: "fragment", uris: ["https://app.example/cb#here"], key: "REDIRECT_URI_FRAGMENT" },
    { kind: "wildcard", uris: ["https://*.app.example/cb"], key: "REDIRECT_URI_WILDCARD" },
    { kind: "relative", uris: ["/cb"], key: "REDIRECT_URI_RELATIVE" },
    { kind: "duplicate", uris: ["https://app.example/cb", "https://app.example/cb"], key: "REDIRECT_URI_DUPLICATE" },
    { kind: "dangerous", uris: ["javascript:alert(1)"], key: "DANGEROUS_SCHEME" },
  ].map(({ kind, uris, key }) => ({ kind, uris, web: [key], agent: [key], native: [key], implicit: [], open: [] })),
  { kind: "none", uris: [], web: [], agent: [], native: [], implicit: [], open: [] },
];

// The problems of an application in development mode: redirect URIs by http, or by a private scheme.
const hiddenInDevMode = new Set([
  "HTTP_ON_USER_AGENT",
  "HTTP_ON_PUBLIC_WEB",
  "HTTP_ON_CONFIDENTIAL_WEB",
  "CUSTOM_SCHEME_ON_WEB",
  "CUSTOM_SCHEME_ON_USER_AGENT",
  "NATIVE_HTTP_NOT_LOOPBACK",
  "NATIVE_SCHEME_WITHOUT_DOT",
  "IMPLICIT_CUSTOM_OR_HTTP",
]);

const appTypes = [
  { appType: WEB, column: "web", secret: [] },
  { appType: USER_AGENT, column: "agent", secret: ["USER_AGENT_WITH_AUTH_METHOD"] },
  { appType: NATIVE, column: "native", secret: ["NATIVE_WITH_AUTH_METHOD"] },
] as const;

/** Every combination of grant types, and what it asks for by itself. */
const grants = [
  { grantTypes: [AUTHORIZATION_CODE], redirects: true, stray: false },
  { grantTypes: [AUTHORIZATION_CODE, REFRESH_TOKEN], redirects: true, stray: false },
  { grantTypes: [IMPLICIT], redirects: true, stray: false },
  { grantTypes: [IMPLICIT, REFRESH_TOKEN], redirects: true, stray: true },
  { grantTypes: [AUTHORIZATION_CODE, IMPLICIT], redirects: true, stray: false },
  { grantTypes: [AUTHORIZATION_CODE, IMPLICIT, REFRESH_TOKEN], redirects: true, stray: false },
  { grantTypes: [REFRESH_TOKEN], redirects: true, stray: true },
  { grantTypes: [DEVICE_CODE], redirects: false, stray: false },
  { grantTypes: [DEVICE_CODE, REFRESH_TOKEN], redirects: false, stray: false },
  { grantTypes: [DEVICE_CODE, AUTHORIZATION_CODE], redirects: true, stray: false },
  { grantTypes: [DEVICE_CODE, AUTHORIZATION_CODE, REFRESH_TOKEN], redirects: true, stray: false },
  { grantTypes: [DEVICE_CODE, IMPLICIT], redirects: true, stray: false },
  { grantTypes: [DEVICE_CODE, IMPLICIT, REFRESH_TOKEN], redirects: true, stray: false },
  { grantTypes: [DEVICE_CODE, AUTHORIZATION_CODE, IMPLICIT], redirects: true, stray: false },
  { grantTypes: [DEVICE_CODE, AUTHORIZATION_CODE, IMPLICIT, REFRESH_TOKEN], redirects: true, stray: false },
];

const cases = kinds.flatMap((kind) =>
  appTypes.flatMap((app) =>
    grants.flatMap((grant) =>
      [BASIC, POST, NONE, PRIVATE_KEY_JWT].flatMap((authMethodType) =>
        [false, true].map((devMode) => ({ kind, app, grant, authMethodType, devMode })),
      ),
    ),
  ),
);

type Case = (typeof cases)[number];

function expected({ kind, app, grant, authMethodType, devMode }: Case): string[] {
  const isCode = app.appType === WEB && grant.grantTypes.includes(AUTHORIZATION_CODE);
  const isImplicit = grant.grantTypes.includes(IMPLICIT) && kind.implicit.some((type) => type === app.appType);
  const ofUri = [
    ...kind[app.column],
    ...(isCode && authMethodType === NONE ? kind.open : []),
    ...(isCode && authMethodType !== NONE && kind.kind === "http" ? ["HTTP_ON_CONFIDENTIAL_WEB"] : []),
    ...(isImplicit ? ["IMPLICIT_CUSTOM_OR_HTTP"] : []),
  ].filter((key) => !devMode || !hiddenInDevMode.has(key));
  return [
    ...(kind.kind === "none" && grant.redirects ? ["NO_REDIRECT_URIS"] : []),
    ...(authMethodType === NONE ? [] : app.secret),
    ...(authMethodType === PRIVATE_KEY_JWT ? ["PRIVATE_KEY_JWT_WITHOUT_KEY"] : []),
    ...(grant.stray ? ["REFRESH_WITHOUT_CODE_OR_DEVICE"] : []),
    ...(grant.redirects ? ofUri : []),
  ];
}

test("every app type, grant type, auth method, kind of redirect URI and mode has just the problems of its own", () => {
  expect(cases).toHaveLength(12 * 3 * 15 * 4 * 2);
  for (const row of cases) {
    const { kind, app, grant, authMethodType, devMode } = row;
    const { grantTypes } = grant;
    const keys = keysOf({ appType: app.appType, grantTypes, authMethodType, devMode, redirectUris: kind.uris });
    const named = JSON.stringify({ ...row, kind: kind.kind });
    expect(keys.sort(), named).toEqual(expected(row).sort());
  }
});

test("a problem names every place where it stands", () => {
  const redirectUris = [
    "http://a.example/",
    "https://a.example/",
    "x:y",
    "http://b.example/",
    "https://a.example/",
    "x:y",
  ];
  expect(placesOf({ appType: USER_AGENT, redirectUris, grantTypes: [IMPLICIT, REFRESH_TOKEN] })).toEqual({
    HTTP_ON_USER_AGENT: ["redirectUris[0]", "redirectUris[3]"],
    CUSTOM_SCHEME_ON_USER_AGENT: ["redirectUris[2]", "redirectUris[5]"],
    IMPLICIT_CUSTOM_OR_HTTP: ["redirectUris[0]", "redirectUris[2]", "redirectUris[3]", "redirectUris[5]"],
    USER_AGENT_WITH_AUTH_METHOD: ["authMethodType"],
    REFRESH_WITHOUT_CODE_OR_DEVICE: ["grantTypes[1]"],
    REDIRECT_URI_DUPLICATE: ["redirectUris[4]", "redirectUris[5]"],
  });
});

test("post-logout redirect URIs are held to the rules that make sense after a logout", () => {
  const rows: [OidcAppType, string, string[]][] = [
    [WEB, "https://a.example/#/bye", []],
    [WEB, "http://a.example/bye", []],
    [WEB, "app:/bye", ["CUSTOM_SCHEME_ON_WEB"]],
    [USER_AGENT, "app:/bye", ["CUSTOM_SCHEME_ON_USER_AGENT"]],
    [USER_AGENT, "http://a.example/bye", ["HTTP_ON_USER_AGENT"]],
    [NATIVE, "http://a.example/bye", ["NATIVE_HTTP_NOT_LOOPBACK"]],
    [NATIVE, "http://[::1]:80/bye", []],
    [NATIVE, "app.example:/bye", []],
    [NATIVE, "app:/bye", ["NATIVE_SCHEME_WITHOUT_DOT"]],
    [WEB, "https://ada@a.example/bye", ["REDIRECT_URI_USER_INFORMATION"]],
    [WEB, "https://a.example/*", ["REDIRECT_URI_WILDCARD"]],
    [WEB, "/bye", ["REDIRECT_URI_RELATIVE"]],
    [WEB, "data:text/html,bye", ["DANGEROUS_SCHEME"]],
  ];
  for (const [appType, uri, keys] of rows) {
    const changes = { appType, authMethodType: NONE, grantTypes: [AUTHORIZATION_CODE, IMPLICIT] };
    const places = placesOf({ ...changes, postLogoutRedirectUris: [uri] });
    expect(places, uri).toEqual(Object.fromEntries(keys.map((key) => [key, ["postLogoutRedirectUris[0]"]])));
  }
  const device = { grantTypes: [DEVICE_CODE], postLogoutRedirectUris: ["/bye"] };
  expect(keysOf(device), "whatever the flow, one may sign out").toEqual(["REDIRECT_URI_RELATIVE"]);
  const shared = { postLogoutRedirectUris: sound.redirectUris };
  expect(keysOf(shared), "the same URI in both lists is not a duplicate").toEqual([]);
});

test("a dangerous scheme is seen in every disguise, on every type of application, also in development mode", () => {
  const disguised = [
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    " javascript:alert(1)",
    "\u0001javascript:alert(1)",
    "java\tscript:alert(1)",
    "java\r\nscript:alert(1)",
    "javascript\n:alert(1)",
    "java\u200bscript:alert(1)",
    "\ufeffjavascript:alert(1)",
    "java\u00adscript:alert(1)",
    "ｊａｖａｓｃｒｉｐｔ：alert(1)",
    "javascript%3Aalert(1)",
    "%6A%61vascript:alert(1)",
    "%256Aavascript:alert(1)",
    "java%0Ascript:alert(1)",
    "javascript://app.example/%0aalert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    "file:///etc/passwd",
    "blob:https://app.example/1",
    "about:blank",
    "filesystem:https://app.example/temporary/x",
    "view-source:javascript:alert(1)",
    "FILE:/c:/x",
  ];
  for (const uri of disguised)
    for (const appType of [WEB, USER_AGENT, NATIVE])
      for (const devMode of [false, true]) {
        const changes = { appType, devMode, authMethodType: NONE };
        expect(keysOf({ ...changes, redirectUris: [uri] }), uri).toContain("DANGEROUS_SCHEME");
        expect(keysOf({ ...changes, postLogoutRedirectUris: [uri] }), uri).toContain("DANGEROUS_SCHEME");
      }
});

test("a scheme is not dangerous because a dangerous word stands in it, after it, or in the path", () => {
  const uris = [
    "com.example.javascript:/cb",
    "javascripts.example:/cb",
    "database.example:/cb",
    "https://a.example/javascript:x?data:y",
  ];
  const changes = { appType: NATIVE, authMethodType: NONE, redirectUris: uris };
  expect(keysOf(changes)).toEqual([]);
});

test("only localhost, 127.x.x.x and [::1] are the loopback address", () => {
  const loopback = [
    "http://localhost",
    "http://localhost/cb",
    "http://localhost:3000/cb?x=@evil.com",
    "HTTP://LOCALHOST:3000/cb",
    "http://127.0.0.1/cb",
    "http://127.0.0.1:65535",
    "http://127.255.0.9:1/cb",
    "http://[::1]/cb",
    "http://[::1]:8080/cb",
    "http://[0:0:0:0:0:0:0:1]/cb",
  ];
  const elsewhere = [
    "http://localhost.evil.com/cb",
    "http://evil.com/localhost",
    "http://localhost@evil.com/cb",
    "http://127.0.0.1@evil.com/cb",
    "http://localhost:80@evil.com/cb",
    "http://evil.com#@localhost/cb",
    "http://evil.com?@localhost/cb",
    "http://evil.com\\@localhost/cb",
    "http://localhost\\@evil.com/cb",
    "http://localhost\\.evil.com/cb",
    "http://127.0.0.1.evil.com/cb",
    "http://127.0.0.1.nip.io/cb",
    "http://128.0.0.1/cb",
    "http://0.0.0.0/cb",
    "http://10.0.0.1/cb",
    "http://127.0.0.256/cb",
    "http://[::2]/cb",
    "http://[::1].evil.com/cb",
    "http://[::1%25lo]/cb",
    "http://[::ffff:8.8.8.8]/cb",
    "http://user@localhost/cb",
    "http://localhost%2eevil.com/cb",
    "http://localhost%00.evil.com/cb",
    "http://localhost。evil.com/cb",
    "http://ⓛocalhost/cb",
    "http://localhоst/cb",
    "http:localhost/cb",
    "http:///localhost/cb",
    "http://localhost:port/cb",
    "http://localhost:99999/cb",
    "//localhost/cb",
  ];
  const keys = (uri: string) => keysOf({ appType: NATIVE, authMethodType: NONE, redirectUris: [uri] });
  for (const uri of loopback) {
    expect(isLoopback(uri), uri).toBe(true);
    expect(keys(uri), uri).not.toContain("NATIVE_HTTP_NOT_LOOPBACK");
  }
  for (const uri of elsewhere) {
    expect(isLoopback(uri), uri).toBe(false);
    expect(["NATIVE_HTTP_NOT_LOOPBACK", "REDIRECT_URI_RELATIVE"], uri).toContain(keys(uri)[0]);
  }
});

test("a redirect URI that browsers and servers may read differently is not absolute", () => {
  const unclear = [
    "callback",
    "//app.example/cb",
    "://app.example/cb",
    "https:app.example/cb",
    "https:/app.example/cb",
    "https:///app.example/cb",
    "https://",
    "https://:443/cb",
    "https://app.example:99999/cb",
    "https://app exa.mple/cb",
    "https://good.example\\@evil.example/cb",
    "https://app.example/\u202ecb",
    "https://app.example/c\nb",
    "1app:/cb",
    "localhost:3000/cb",
    "app.example:443",
  ];
  for (const uri of unclear)
    expect(keysOf({ appType: NATIVE, authMethodType: NONE, redirectUris: [uri] }), uri).toEqual([
      "REDIRECT_URI_RELATIVE",
    ]);
});

test("user information is seen before any host, and nowhere else", () => {
  const seen = [
    "https://u@a.example/",
    "https://@a.example/",
    "http://localhost@evil.example/",
    "app.example://u:p@host/cb",
  ];
  const unseen = ["https://a.example/u@b", "https://a.example?u@b", "app.example:/u@b", "app.example:u@b"];
  const keys = (uri: string) => keysOf({ appType: NATIVE, authMethodType: NONE, redirectUris: [uri] });
  for (const uri of seen) expect(keys(uri), uri).toContain("REDIRECT_URI_USER_INFORMATION");
  for (const uri of unseen) expect(keys(uri), uri).toEqual([]);
});

test("a clock skew above five seconds is a problem", () => {
  const skewed = (seconds: bigint, nanos = 0) => placesOf({ clockSkew: create(DurationSchema, { seconds, nanos }) });
  for (const [seconds, nanos] of [[0n], [5n], [4n, 999_999_999]] as const) expect(skewed(seconds, nanos)).toEqual({});
  for (const [seconds, nanos] of [[5n, 1], [6n], [3600n], [315_576_000_000n]] as const)
    expect(skewed(seconds, nanos)).toEqual({ CLOCK_SKEW_TOO_LONG: ["clockSkew"] });
  expect(keysOf({ devMode: true, clockSkew: create(DurationSchema, { seconds: 6n }) })).toEqual([
    "CLOCK_SKEW_TOO_LONG",
  ]);
});

test("a back-channel logout URI is absolute and https, without user information and fragment, also in development", () => {
  const places = (backChannelLogoutUri: string) => placesOf({ backChannelLogoutUri, devMode: true });
  for (const uri of ["", "https://app.example/logout", "https://app.example:8443/logout?tenant=1", "HTTPS://10.0.0.1/"])
    expect(places(uri), uri).toEqual({});
  const unusable = [
    ...["http://app.example/logout", "http://localhost/logout", "/logout", "app.example/logout", "com.example:/out"],
    ...["https://app.example/logout#top", "https://user@app.example/", "https://*.example/", "https://", "https:/a"],
    ...["javascript:alert(1)", "https://app.example/\u202eout", "https://app example/"],
  ];
  for (const uri of unusable)
    expect(places(uri), uri).toEqual({ BACK_CHANNEL_LOGOUT_URI_UNUSABLE: ["backChannelLogoutUri"] });
});

test("wildcards are seen in hosts that hide them", () => {
  for (const uri of [
    "https://*.a.example/",
    "https://%2A.a.example/",
    "https://＊.a.example/",
    "https://a.example/*",
    "x.example:/*",
  ])
    expect(keysOf({ appType: NATIVE, authMethodType: NONE, redirectUris: [uri] }), uri).toEqual([
      "REDIRECT_URI_WILDCARD",
    ]);
});

test("even an empty fragment is one, and an encoded one is none", () => {
  expect(keysOf({ redirectUris: ["https://a.example/cb#"] })).toEqual(["REDIRECT_URI_FRAGMENT"]);
  expect(keysOf({ redirectUris: ["https://a.example/cb%23"] })).toEqual([]);
});

test("the message names the URIs at fault in the language asked for, without what could deceive its reader", () => {
  const uri = "http://a.example/\u202ecb";
  const { complianceProblems } = complianceOf(configured({ redirectUris: ["https://ok.example", uri] }), "de");
  expect(complianceProblems).toEqual([
    {
      key: "REDIRECT_URI_RELATIVE",
      localizedMessage: text("REDIRECT_URI_RELATIVE", "de", { uris: "http://a.example/\\u{202e}cb (redirectUris[1])" }),
    },
  ]);
  const languages = (["en", "de", "fr", "es"] as const).map((language) =>
    JSON.stringify(complianceOf(configured({ redirectUris: [] }), language)),
  );
  expect(new Set(languages).size).toBe(4);
});

test("a message stays short whatever the number and length of the URIs at fault", () => {
  const redirectUris = Array.from({ length: 100 }, (_, at) => `x:${String(at).padEnd(1990, "é")}`);
  const [problem] = complianceOf(configured({ redirectUris }), "en").complianceProblems;
  expect(problem?.key).toBe("CUSTOM_SCHEME_ON_WEB");
  expect(problem?.localizedMessage.length).toBeLessThan(1300);
  expect(problem?.localizedMessage).toMatch(/… \(redirectUris\[4\]\), … \(\+95\)\.$/);
});

test("an origin is scheme://hostname[:port] and nothing else", () => {
  const origins = [
    "https://app.example",
    "http://localhost",
    "http://localhost:3000",
    "HTTPS://App.Example:443",
    "http://127.0.0.1:8080",
    "http://[::1]:8080",
    "http://my_service:80",
    "https://xn--mnchen-3ya.example",
    "https://münchen.example",
    "https://127.1",
    "https://0x7f000001",
    "capacitor://localhost",
    "chrome-extension://abcdefghijklmnop",
  ];
  for (const origin of origins) expect(originFault(origin), origin).toBeUndefined();

  const faults: [string, string][] = [
    ["app.example", "ORIGIN_NO_SCHEME"],
    ["https:app.example", "ORIGIN_NO_SCHEME"],
    ["//app.example", "ORIGIN_NO_SCHEME"],
    ["null", "ORIGIN_NO_SCHEME"],
    ["*", "ORIGIN_NO_SCHEME"],
    ["://app.example", "ORIGIN_SCHEME"],
    [" https://app.example", "ORIGIN_SCHEME"],
    ["1x://app.example", "ORIGIN_SCHEME"],
    ["javascript://app.example", "ORIGIN_DANGEROUS"],
    ["file://app.example", "ORIGIN_DANGEROUS"],
    ["https://user:pass@app.example", "ORIGIN_USER"],
    ["https://@app.example", "ORIGIN_USER"],
    ["https://app.example/", "ORIGIN_PATH"],
    ["https://app.example/path", "ORIGIN_PATH"],
    ["https://app.example?q", "ORIGIN_QUERY"],
    ["https://app.example#f", "ORIGIN_FRAGMENT"],
    ["https://app.example#", "ORIGIN_FRAGMENT"],
    ["https://", "ORIGIN_NO_HOST"],
    ["https://:443", "ORIGIN_NO_HOST"],
    ["https://*.app.example", "ORIGIN_HOST"],
    ["https://app..example", "ORIGIN_HOST"],
    ["https://app.example.", "ORIGIN_HOST"],
    ["https://-app.example", "ORIGIN_HOST"],
    ["https://app.example ", "ORIGIN_HOST"],
    ["https://app.example\n", "ORIGIN_HOST"],
    ["https://app%2eexample", "ORIGIN_HOST"],
    ["https://app.example\\x", "ORIGIN_HOST"],
    ["https://256.0.0.1", "ORIGIN_HOST"],
    ["https://[::1", "ORIGIN_HOST"],
    ["https://[1.2.3.4]", "ORIGIN_HOST"],
    ["https://app.example:", "ORIGIN_PORT"],
    ["https://app.example:0x50", "ORIGIN_PORT"],
    ["https://app.example:65536", "ORIGIN_PORT"],
    ["https://app.example:0", "ORIGIN_PORT"],
    ["https://app。example", "ORIGIN_HOST"],
    ["https://app.example:80:80", "ORIGIN_PORT"],
  ];
  for (const [origin, fault] of faults) expect(originFault(origin), origin).toBe(fault);
});

test("the form that an origin is stored in is the one that browsers send, and stays so", () => {
  const hosts = [
    "App.Example",
    "my_service",
    "BÜCHER.example",
    "straße.example",
    "127.1",
    "0x7f.1",
    "[0:0::1]",
    "[::ffff:1.2.3.4]",
  ];
  for (const scheme of ["http", "HTTPS"])
    for (const host of hosts)
      for (const port of ["", ":80", ":443", ":00443", ":8080", ":65535"]) {
        const origin = `${scheme}://${host}${port}`;
        expect(originFault(origin), origin).toBeUndefined();
        expect(originOf(origin), origin).toBe(new URL(origin).origin);
        expect(originOf(originOf(origin)), origin).toBe(originOf(origin));
      }
});
