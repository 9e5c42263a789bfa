// A web server that signs in with Auth.js. `/login` leads to the provider, as the button of its page does; `/` answers the session.
import { createServer } from "node:http";
import { Auth } from "@auth/core";

const { ISSUER, CLIENT_ID, CLIENT_SECRET, AUTH_METHOD } = process.env;

const config = {
  trustHost: true,
  basePath: "/auth",
  secret: "a secret of this test, long enough for a key",
  providers: [
    {
      ...{ id: "postern", name: "Postern", type: "oidc", checks: ["pkce", "state", "nonce"] },
      ...{ issuer: ISSUER, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
      ...(AUTH_METHOD ? { client: { token_endpoint_auth_method: AUTH_METHOD } } : {}),
    },
  ],
  callbacks: {
    jwt: ({ token, profile }) => (profile ? { ...token, claims: profile } : token),
    session: ({ session, token }) => ({ ...session, claims: token.claims }),
  },
};

const server = createServer(async (request, response) => {
  const origin = `http://${request.headers.host}`;
  const ask = (path, init) => Auth(new Request(origin + path, init), config);
  const { cookie = "" } = request.headers;
  const answer =
    request.url === "/login"
      ? await signIn(ask)
      : await ask(request.url === "/" ? "/auth/session" : request.url, { headers: { cookie } });
  for (const one of answer.headers.getSetCookie()) response.appendHeader("set-cookie", one);
  for (const name of ["location", "content-type"])
    if (answer.headers.has(name)) response.setHeader(name, answer.headers.get(name));
  response.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer()));
});

async function signIn(ask) {
  const csrf = await ask("/auth/csrf");
  const cookies = csrf.headers.getSetCookie();
  const { csrfToken } = await csrf.json();
  const cookie = cookies.map((one) => one.split(";", 1)[0]).join("; ");
  const body = new URLSearchParams({ csrfToken, callbackUrl: "/" });
  return ask("/auth/signin/postern", { method: "POST", headers: { cookie }, body });
}

server.listen(0, () => console.log(`Open http://localhost:${server.address().port}`));
