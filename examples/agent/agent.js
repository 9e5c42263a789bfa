// An agent that uses the tools of an MCP server: for a person, who signs in with a browser, or as a machine that has a secret.
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { ClientCredentialsProvider } from "@modelcontextprotocol/sdk/client/auth-extensions.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { openBrowserSignIn } from "./browser.js";

const { ISSUER = "http://localhost:8080", RESOURCE = "http://localhost:4000/mcp" } = process.env;
const { CLIENT_ID = "", CLIENT_SECRET = "" } = process.env;

try {
  const [tool, text] = process.argv.slice(2);
  if (!CLIENT_ID) throw new Error("usage: CLIENT_ID=… [CLIENT_SECRET=…] node agent.js [list_notes | add_note <text>]");
  const client = await (CLIENT_SECRET ? asMachine() : asPerson());
  if (tool) await call(client, tool, text);
  else await list(client);
  await client.close();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

/** Connects with tokens of a machine, which the library gets with its secret whenever the server asks for one. */
function asMachine() {
  const authProvider = new ClientCredentialsProvider({
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    expectedIssuer: ISSUER,
    scope: "notes:read notes:write",
  });
  return connected(authProvider);
}

/** Connects with tokens of a person. The first attempt fails, because the library has sent the person to a browser by then. */
async function asPerson() {
  const signIn = await openBrowserSignIn({ issuer: ISSUER, clientId: CLIENT_ID });
  try {
    return await connected(signIn.provider);
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    await transportWith(signIn.provider).finishAuth(await signIn.code);
    return await connected(signIn.provider);
  } finally {
    signIn.close();
  }
}

async function connected(provider) {
  const client = new Client({ name: "postern-agent-example", version: "1.0.0" });
  await client.connect(transportWith(provider));
  return client;
}

function transportWith(authProvider) {
  return new StreamableHTTPClientTransport(new URL(RESOURCE), { authProvider });
}

async function list(client) {
  const { tools } = await client.listTools();
  for (const { name, description } of tools) console.log(`${name}: ${description}`);
}

async function call(client, name, text) {
  const { content } = await client.callTool({ name, arguments: text === undefined ? {} : { text } });
  for (const part of content) console.log(part.text);
}
