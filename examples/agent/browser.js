// The sign-in of a person, for a program on the person's own machine: a browser that is led back to a port of it (RFC 8252).
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

/** Opens the port; answers what the MCP library needs, and the code that arrives there. */
export async function openBrowserSignIn({ issuer, clientId }) {
  const state = randomBytes(16).toString("base64url");
  const server = createServer();
  const code = new Promise((resolve, reject) => {
    server.on("request", (request, response) => {
      const { pathname, searchParams } = new URL(request.url, "http://127.0.0.1");
      // What belongs to another request (`state`), or comes from another issuer (RFC 9207), is no answer to this one.
      const isOurs = searchParams.get("state") === state && searchParams.get("iss") === issuer;
      if (pathname !== "/callback" || !isOurs) return response.writeHead(404).end();
      response.writeHead(200, { "content-type": "text/plain", connection: "close" }).end("Return to the agent.");
      const error = searchParams.get("error_description") ?? searchParams.get("error");
      if (error === null) resolve(searchParams.get("code"));
      else reject(new Error(`The sign-in failed: ${error}`));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const redirectUrl = `http://127.0.0.1:${server.address().port}/callback`;
  return { provider: providerOf({ issuer, clientId, redirectUrl, state }), code, close: () => server.close() };
}

/** What the library asks for and what it keeps, here in memory. */
function providerOf({ issuer, clientId, redirectUrl, state }) {
  let tokens;
  let verifier;
  return {
    ...(clientId.startsWith("https://") ? byDocument(clientId) : registered(clientId, issuer)),
    redirectUrl,
    clientMetadata: { client_name: "Agent", redirect_uris: [redirectUrl], token_endpoint_auth_method: "none" },
    state: () => state,
    tokens: () => tokens,
    saveTokens: (saved) => {
      tokens = saved;
    },
    codeVerifier: () => verifier,
    saveCodeVerifier: (saved) => {
      verifier = saved;
    },
    redirectToAuthorization: (url) => console.log(`Open ${url}`),
  };
}

/** A client that is registered. Its id is sent to no other issuer, whatever the MCP server says. */
function registered(clientId, issuer) {
  return { clientInformation: () => ({ client_id: clientId, issuer }) };
}

/** A client that nobody has registered: its id is the URL of a document that says who it is, where the issuer supports that. */
function byDocument(url) {
  let information;
  return {
    clientMetadataUrl: url,
    clientInformation: () => information,
    saveClientInformation: (saved) => {
      information = saved;
    },
  };
}
