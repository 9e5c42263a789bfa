import { quoted } from "../parts/quoted.ts";
import type { Kind } from "./kinds.ts";

type Ids = { readonly issuer: string; readonly clientId: string; readonly redirectUri: string };
type Snippet = { readonly name: string; readonly text: string };

/** The beginnings of programs for a kind of application. Secrets stay in the environment. */
export function snippetsFor(kind: Kind, ids: Ids): readonly Snippet[] {
  return {
    web: [
      { name: "Node", text: node(ids) },
      { name: "Python", text: python(ids) },
      { name: "oauth2-proxy", text: proxy(ids) },
    ],
    page: [{ name: "oidc-client-ts", text: browser(ids) }],
    native: [
      { name: "AppAuth (Kotlin)", text: kotlin(ids) },
      { name: "AppAuth (Swift)", text: swift(ids) },
    ],
    device: [{ name: "curl", text: device(ids) }],
    api: [
      { name: "curl", text: introspection(ids) },
      { name: "Node", text: jwt(ids) },
    ],
  }[kind];
}

/** A text as a literal in a program: others may have chosen its characters. */
const literal = (text: string): string => JSON.stringify(text);
const kotlinLiteral = (text: string): string => literal(text).replaceAll("$", "\\$");

const node = ({ issuer, clientId, redirectUri }: Ids): string => `import * as oidc from "openid-client";

const client = await oidc.discovery(new URL(${literal(issuer)}), ${literal(clientId)}, process.env.CLIENT_SECRET);

// On GET /sign-in: keep the verifier and the state in a cookie, and send the browser to
const verifier = oidc.randomPKCECodeVerifier();
const state = oidc.randomState();
const target = oidc.buildAuthorizationUrl(client, {
  redirect_uri: ${literal(redirectUri)},
  scope: "openid profile roles offline_access",
  state,
  code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
  code_challenge_method: "S256",
});

// When the browser comes back:
const tokens = await oidc.authorizationCodeGrant(client, currentUrl, {
  pkceCodeVerifier: verifier,
  expectedState: state,
});
console.log(tokens.claims());`;

const python = ({ issuer, clientId, redirectUri }: Ids): string => `# pip install authlib flask requests
import os
from authlib.integrations.flask_client import OAuth
from flask import Flask, redirect, session

app = Flask(__name__)
app.secret_key = os.environ["COOKIE_KEY"]
postern = OAuth(app).register(
    "postern",
    server_metadata_url=${literal(`${issuer}/.well-known/openid-configuration`)},
    client_id=${literal(clientId)},
    client_secret=os.environ["CLIENT_SECRET"],
    client_kwargs={"scope": "openid profile roles", "code_challenge_method": "S256"},
)

@app.get("/sign-in")
def sign_in():
    return postern.authorize_redirect(${literal(redirectUri)})

@app.get("/callback")
def callback():
    session["user"] = postern.authorize_access_token()["userinfo"]
    return redirect("/")`;

const proxy = ({ issuer, clientId, redirectUri }: Ids): string => `provider = "oidc"
oidc_issuer_url = ${literal(issuer)}
client_id = ${literal(clientId)}
# client_secret: in OAUTH2_PROXY_CLIENT_SECRET
redirect_url = ${literal(redirectUri)}
scope = "openid profile email"
code_challenge_method = "S256"
email_domains = ["*"]
upstreams = ["http://127.0.0.1:3000"]`;

const browser = ({ issuer, clientId, redirectUri }: Ids): string => `import { UserManager } from "oidc-client-ts";

const manager = new UserManager({
  authority: ${literal(issuer)},
  client_id: ${literal(clientId)},
  redirect_uri: ${literal(redirectUri)},
  scope: "openid profile roles offline_access",
});

if (location.href.startsWith(${literal(redirectUri)})) await manager.signinCallback();
const user = await manager.getUser();
if (!user) await manager.signinRedirect();
else console.log(user.profile, user.access_token);`;

const kotlin = ({
  issuer,
  clientId,
  redirectUri,
}: Ids): string => `AuthorizationServiceConfiguration.fetchFromIssuer(Uri.parse(${kotlinLiteral(issuer)})) { configuration, error ->
    if (configuration == null) throw error ?: IllegalStateException()
    val request = AuthorizationRequest.Builder(
        configuration, ${kotlinLiteral(clientId)}, ResponseTypeValues.CODE, Uri.parse(${kotlinLiteral(redirectUri)}),
    ).setScope("openid profile offline_access").build()
    startActivityForResult(AuthorizationService(this).getAuthorizationRequestIntent(request), 1)
}`;

const swift = ({
  issuer,
  clientId,
  redirectUri,
}: Ids): string => `OIDAuthorizationService.discoverConfiguration(forIssuer: URL(string: ${literal(issuer)})!) { configuration, error in
    guard let configuration else { return }
    let request = OIDAuthorizationRequest(
        configuration: configuration, clientId: ${literal(clientId)},
        scopes: [OIDScopeOpenID, OIDScopeProfile, "offline_access"],
        redirectURL: URL(string: ${literal(redirectUri)})!, responseType: OIDResponseTypeCode,
        additionalParameters: nil)
    flow = OIDAuthState.authState(byPresenting: request, presenting: self) { state, error in
        print(state?.lastTokenResponse?.accessToken ?? "")
    }
}`;

const device = ({ issuer, clientId }: Ids): string => `# Show the user the address and the code of the answer:
curl ${quoted(`${issuer}/oauth/device`)} -d ${quoted(`client_id=${clientId}`)} -d 'scope=openid offline_access'

# Ask every few seconds until the user has signed in:
curl ${quoted(`${issuer}/oauth/token`)} \\
  -d ${quoted(`client_id=${clientId}`)} \\
  -d grant_type=urn:ietf:params:oauth:grant-type:device_code \\
  -d "device_code=$DEVICE_CODE"`;

const introspection = ({ issuer, clientId }: Ids): string => `curl ${quoted(`${issuer}/oauth/introspect`)} \\
  -u ${quoted(`${clientId}:`)}"$CLIENT_SECRET" \\
  -d "token=$ACCESS_TOKEN"`;

const jwt = ({ issuer }: Ids): string => `import { createRemoteJWKSet, jwtVerify } from "jose";

const keys = createRemoteJWKSet(new URL(${literal(`${issuer}/oauth/keys`)}));

// For applications whose access tokens are JWTs.
const { payload } = await jwtVerify(accessToken, keys, { issuer: ${literal(issuer)} });
console.log(payload.sub, payload.roles);`;
