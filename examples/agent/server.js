// An MCP server whose tools are for users and machines of Postern. It takes access tokens for its own URI alone, and no others.
import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { metadataHandler } from "@modelcontextprotocol/sdk/server/auth/handlers/metadata.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import { getOAuthProtectedResourceMetadataUrl } from "@modelcontextprotocol/sdk/server/auth/router.js";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { z } from "zod";

const { ISSUER = "http://localhost:8080", RESOURCE = "http://localhost:4000/mcp" } = process.env;

const resource = new URL(RESOURCE);
const keys = createRemoteJWKSet(new URL(`${ISSUER}/oauth/keys`));

// In memory: each note, and the user id of its author.
const notes = [];

// RFC 9728: clients that have no token yet read here who issues them, and which scopes there are.
const metadataUrl = getOAuthProtectedResourceMetadataUrl(resource);
const metadata = {
  resource: RESOURCE,
  authorization_servers: [ISSUER],
  scopes_supported: ["notes:read", "notes:write"],
  resource_name: "Notes",
};

const app = createMcpExpressApp({ allowedHosts: [resource.hostname] });
app.use(new URL(metadataUrl).pathname, metadataHandler(metadata));
// Without a token, or with one that is not for this server, this responds with 401 and the URL of the metadata.
app.use(
  resource.pathname,
  requireBearerAuth({ verifier: { verifyAccessToken }, expectedResource: resource, resourceMetadataUrl: metadataUrl }),
);
app.post(resource.pathname, answer);
app.all(resource.pathname, (_, response) => response.status(405).set("allow", "POST").end());
app.listen(Number(resource.port), resource.hostname, () => console.log(`Listening at ${RESOURCE}`));

/** Verifies an access token as RFC 9068 says. Without the check of its audience, tokens for other servers would do, too. */
async function verifyAccessToken(token) {
  const expected = { issuer: ISSUER, audience: RESOURCE, typ: "at+jwt", algorithms: ["ES256"] };
  const { payload } = await jwtVerify(token, keys, expected).catch(() => {
    throw new InvalidTokenError("The token is not for this server, or has ended");
  });
  const { sub, client_id, scope = "", exp } = payload;
  return { token, clientId: client_id, scopes: scope.split(" "), expiresAt: exp, resource, extra: { userId: sub } };
}

/** Answers one request. A server for each keeps nothing between them, so that any process can answer the next one. */
async function answer(request, response) {
  const server = toolsFor(request.auth);
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  response.on("close", () => server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
}

/** The tools that a token allows: its scopes are those that Postern granted, so each is left out if the user lacks its role. */
function toolsFor({ scopes, extra: { userId } }) {
  const server = new McpServer({ name: "notes", version: "1.0.0" });
  const tools = {
    "notes:read": server.registerTool("list_notes", { description: "Lists all notes" }, () =>
      said(notes.map(({ author, text }) => `${author}: ${text}`).join("\n") || "There are no notes."),
    ),
    "notes:write": server.registerTool(
      "add_note",
      { description: "Adds a note", inputSchema: { text: z.string().max(1000) } },
      ({ text }) => {
        notes.push({ author: userId, text });
        return said(`Added by ${userId}`);
      },
    ),
  };
  for (const [scope, tool] of Object.entries(tools)) if (!scopes.includes(scope)) tool.disable();
  return server;
}

function said(text) {
  return { content: [{ type: "text", text }] };
}
