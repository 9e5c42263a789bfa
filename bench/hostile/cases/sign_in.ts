import { paths } from "../../../src/provider/http/paths.ts";
import { newToken } from "../../../src/security/token.ts";
import { combiningMarks } from "../bodies.ts";
import { asBrowser, type Call, connect, get } from "../calls.ts";
import { type Case, ofCall } from "../case.ts";
import { forgedJwt, keyIds, postLogoutRedirectUri, redirectUri, registered } from "../registered.ts";
import { issuer } from "../target.ts";

type Fields = Readonly<Record<string, string>>;

const querying = (path: string, fields: Fields) => get(`${path}?${new URLSearchParams(fields)}`, asBrowser);

function posting(path: string, fields: Fields, headers: Fields = {}): Call {
  const type = { "content-type": "application/x-www-form-urlencoded" };
  const body = Buffer.from(new URLSearchParams(fields).toString());
  return { http: "1", method: "POST", path, headers: { ...type, ...headers }, body };
}

const marks = (bytes: number) => combiningMarks(bytes);
const words = (count: number) => Array.from({ length: count }, (_, n) => n.toString(36)).join(" ");
const deep = (bytes: number) => `${`{"a":`.repeat(bytes / 6)}1${"}".repeat(bytes / 6)}`;
const jsonIn = (text: string) => Buffer.from(text).toString("base64url");

/** A request for a code that goes as far as the question for the password. */
const wanted = {
  ...{ client_id: registered.web, redirect_uri: redirectUri, response_type: "code", scope: "openid" },
  ...{ code_challenge: "A".repeat(43), code_challenge_method: "S256" },
};

/** A JWT like those that we sign, which nobody signed: its key has to be tried. */
async function ownJwt(url: string, { type = "JWT", length }: { type?: string; length: number }): Promise<string> {
  const { keys } = (await (await fetch(url + paths.keys)).json()) as {
    keys: { kid: string; alg?: string; kty: string }[];
  };
  const key = keys.find(({ kty }) => kty === "RSA");
  const header = { alg: "RS256", typ: type, kid: key?.kid };
  const claims = { iss: issuer, aud: registered.web, sub: "1", sid: "1", exp: 9_999_999_999 };
  return forgedJwt(header, claims, { length, bytes: 256 });
}

/** The worst value for each parameter of an authorization request, behind what makes it count. */
const heavy: Readonly<Record<string, (url: string) => string | Promise<string>>> = {
  request: () => `e30.${jsonIn(deep(7_000))}.`,
  claims: () => deep(3_000),
  id_token_hint: (url) => ownJwt(url, { length: 9_000 }),
  ui_locales: () => words(3_000),
  prompt: () => words(3_000),
  scope: () => `openid ${words(240)}`,
  acr_values: () => words(3_000),
  login_hint: () => marks(200),
  state: () => "&".repeat(2_000),
  nonce: () => marks(500),
  resource: () => `${issuer}/`,
  redirect_uri: () => `${redirectUri}${"%2e/".repeat(200)}`,
};

/** The link of the language switch, with as much as there is room for that has to be looked through for its parameter. */
const languages: readonly Case[] = [
  ofCall("the language switch, a query of parts without a name", () =>
    get(`${paths.authorize}?page_language=de${"&".repeat(15_000)}`, asBrowser),
  ),
  ofCall("the language switch, a query of names that are escaped", () =>
    get(`${paths.authorize}?page_language=de${"&page%5Flanguag".repeat(1_000)}`, asBrowser),
  ),
];

const beginnings: readonly Case[] = Object.entries(heavy).flatMap(([name, value]) => [
  ofCall(`authorize, a right request with the worst ${name}`, async (url) =>
    querying(paths.authorize, { ...wanted, [name]: await value(url) }),
  ),
]);

const ending = { post_logout_redirect_uri: postLogoutRedirectUri, client_id: registered.web };

const endings: readonly Case[] = [
  ofCall("end-session, a right request with a hint of 9,000 characters", async (url) =>
    querying(paths.endSession, { ...ending, id_token_hint: await ownJwt(url, { length: 9_000 }) }),
  ),
  ofCall("end-session, a form with a hint of 11,000 characters", async (url) =>
    posting(paths.endSession, { ...ending, id_token_hint: await ownJwt(url, { length: 11_000 }) }),
  ),
  ofCall("end-session, a right request with the worst locales", () =>
    querying(paths.endSession, { ...ending, ui_locales: words(1_500), state: "&".repeat(2_000) }),
  ),
];

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** An assertion of the application that signs, with a signature that is none. */
function assertion(alg: string, kid: string, length = 8_000): string {
  const { signing } = registered;
  const claims = { iss: signing, sub: signing, aud: issuer, jti: "1", exp: Math.floor(Date.now() / 1000) + 60 };
  return forgedJwt({ alg, kid }, claims, { length, bytes: alg.startsWith("ES") ? 132 : 512 });
}

const asserting = (value: string) => ({ client_assertion_type: assertionType, client_assertion: value });

const asking = {
  grant_type: "authorization_code",
  code: "A".repeat(200),
  redirect_uri: redirectUri,
  token: "A".repeat(100),
};
const basic = { authorization: `Basic ${Buffer.from(`${registered.web}:${"%41".repeat(400)}`).toString("base64")}` };

/** The endpoints that authenticate applications, and how far each goes without a secret. */
const endpoints = [paths.token, paths.deviceAuthorization, paths.introspect, paths.revoke] as const;

const authentications: readonly Case[] = endpoints.flatMap((path) => [
  ...[
    ["RS512", keyIds.rsa],
    ["PS512", keyIds.rsa],
    ["ES512", keyIds.ec],
  ].map(([alg = "", kid = ""]) =>
    ofCall(`${path}, a client_assertion of 8,000 characters, ${alg}`, () =>
      posting(path, { ...asking, ...asserting(assertion(alg, kid)) }),
    ),
  ),
  ofCall(`${path}, a client_assertion of nested objects`, () =>
    posting(path, { ...asking, ...asserting(`e30.${jsonIn(deep(5_800))}.`) }),
  ),
  ofCall(`${path}, a client_assertion of 16,000 characters`, () =>
    posting(path, { ...asking, ...asserting(assertion("RS512", keyIds.rsa, 15_500)) }),
  ),
  ofCall(`${path}, a wrong secret in the header, all of it escaped`, () => posting(path, asking, basic)),
  ofCall(`${path}, a wrong secret in the form`, () =>
    posting(path, { ...asking, client_id: registered.web, client_secret: marks(200) }),
  ),
]);

const grants = "urn:ietf:params:oauth:grant-type:";
const open = { client_id: registered.open };

/** What a program without a secret may ask, so everybody. */
const programs: readonly Case[] = [
  ofCall("token, a code that nobody has, with the worst verifier", () =>
    posting(paths.token, { ...asking, ...open, code: newToken("oc"), code_verifier: marks(4_500) }),
  ),
  ofCall("token, a refresh token that nobody has, with the worst scope", () =>
    posting(paths.token, { ...open, grant_type: "refresh_token", refresh_token: newToken("or"), scope: words(4_000) }),
  ),
  ofCall("token, the code of a device that nobody has", () =>
    posting(paths.token, {
      ...open,
      grant_type: `${grants}device_code`,
      device_code: newToken("od"),
      scope: words(4_000),
    }),
  ),
  ofCall("token, a grant type of 16,000 characters", () => posting(paths.token, { ...open, grant_type: marks(5_000) })),
  ofCall("the code of a device, with the worst scope", () =>
    posting(paths.deviceAuthorization, { ...open, scope: `openid ${words(240)}` }),
  ),
  ...[paths.introspect, paths.revoke].map((path) =>
    ofCall(`${path}, a program, with a JWT of 9,000 characters`, async (url) =>
      posting(path, { ...open, token: await ownJwt(url, { type: "at+jwt", length: 9_000 }) }),
    ),
  ),
  ofCall("userinfo, a JWT of 9,000 characters", async (url) =>
    get(paths.userinfo, { authorization: `Bearer ${await ownJwt(url, { type: "at+jwt", length: 9_000 })}` }),
  ),
  ofCall("userinfo, a form with a JWT of 15,000 characters", async (url) =>
    posting(paths.userinfo, { access_token: await ownJwt(url, { type: "at+jwt", length: 15_000 }) }),
  ),
];

/** A page as a browser has it: its hidden fields, and its cookies. */
type Opened = { readonly hidden: Fields; readonly cookie: string };

async function opened(url: string, path: string): Promise<Opened> {
  const response = await fetch(url + path, { headers: asBrowser });
  const text = await response.text();
  const fields = text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g);
  const hidden = Object.fromEntries(Array.from(fields, ([, name = "", value = ""]) => [name, value]));
  if (hidden.token === undefined) throw new Error(`${path} shows no form: ${response.status} ${text.slice(0, 500)}`);
  return {
    hidden,
    cookie: response.headers
      .getSetCookie()
      .map((one) => one.split(";", 1)[0])
      .join("; "),
  };
}

const authorize = `${paths.authorize}?${new URLSearchParams({ ...wanted, state: "s".repeat(2_000) })}`;

const credential = JSON.stringify({
  ...{ id: "A".repeat(300), rawId: "A".repeat(300), type: "public-key" },
  response: {
    clientDataJSON: jsonIn(`{"type":"webauthn.get","a":${deep(3_000)}}`),
    ...{ authenticatorData: "A".repeat(2_000), signature: "A".repeat(1_000), userHandle: "A".repeat(90) },
  },
});

/** The worst answers to forms that we showed, with their tokens; none of them makes a password be hashed. */
const answers = {
  [authorize]: {
    "a password that is too long": { action: "password", login_name: "a", password: marks(6_000) },
    "a login name that is too long": { action: "password", login_name: marks(6_000), password: "a" },
    "a factor": { action: "factor", pending: newToken("ps"), code: "1 ".repeat(90), filling: marks(6_000) },
    "a passkey": { action: "passkey", credential },
    "a passkey of nested objects": { action: "passkey", credential: deep(5_400) },
    "an account": { account: marks(6_000) },
    "a consent": { action: "allow", filling: marks(6_000) },
  },
  [paths.forgottenPassword]: {
    "a name": { action: "send", account: marks(200), filling: marks(4_000) },
  },
  [paths.newPassword]: {
    "a code and a password": { action: "save", code: "2".repeat(40), new_password: marks(1_000) },
  },
  [paths.firstPassword]: {
    "a code and a password": { action: "save", code: "2".repeat(40), new_password: marks(1_000) },
  },
  [paths.device]: { "a code": { user_code: marks(5_000) } },
} satisfies Record<string, Record<string, Fields>>;

const submissions: readonly Case[] = Object.entries(answers).flatMap(([path, all]) =>
  Object.entries(all).map(([what, fields]) =>
    ofCall(`the form of ${path.split("?", 1)[0]}, ${what}`, async (url) => {
      const { hidden, cookie } = await opened(url, path);
      const target = path === authorize ? paths.signIn : path;
      return posting(target, { ...hidden, ...fields }, { cookie, origin: issuer });
    }),
  ),
);

const waiting: readonly Case[] = [paths.forgottenPassword, paths.newPassword, paths.confirmEmail].map((path) =>
  ofCall(`${path}, with a sign-in that waits`, async (url) => {
    const { hidden } = await opened(
      url,
      `${paths.authorize}?${new URLSearchParams({ ...wanted, state: "s".repeat(2_000) })}`,
    );
    return get(path, { ...asBrowser, cookie: `__Host-postern-request=${hidden.request}` });
  }),
);

/** Rpcs for anyone, with a challenge that anyone may ask for. */
const passkeys: readonly Case[] = Object.entries({
  "a signature": JSON.parse(credential),
  "client data of 10 KB": { ...JSON.parse(credential), response: { clientDataJSON: jsonIn(deep(9_000)) } },
}).map(([what, value]) =>
  ofCall(`CreatePasskeySession, a right challenge, ${what}`, async (url) => {
    const { challengeToken } = await startPasskey(url);
    const bytes = Buffer.from(JSON.stringify({ challengeToken, credential: value }));
    return connect("SessionService/CreatePasskeySession", "json", { bytes });
  }),
);

async function startPasskey(url: string): Promise<{ readonly challengeToken: string }> {
  const headers = { "content-type": "application/json" };
  const path = "/postern.v1.SessionService/StartPasskeySession";
  const response = await fetch(url + path, { method: "POST", headers, body: "{}" });
  return (await response.json()) as { challengeToken: string };
}

/** Requests that are right so far that what is heavy in them is reached. */
export const signInCases: readonly Case[] = [
  ...[...beginnings, ...languages, ...endings, ...authentications],
  ...[...programs, ...submissions, ...waiting, ...passkeys],
];
