import { spawn } from "node:child_process";
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Postern, signedUp, startPostern } from "../harness.ts";
import { answerIn, basic, issuerOf, type Person, post, signIn } from "../provider/application.ts";
import { openBrowser } from "../provider/browser.ts";
import { loopback, serve } from "../provider/https_server.ts";
import { startWebProgram } from "../provider/web_program.ts";
import { textOf } from "../rules/tree.ts";
import { freePort } from "../wire/free_port.ts";
import { ended } from "./command.ts";
import { found } from "./toolchains.ts";
import { openWorkshop, root } from "./workshop.ts";

type Environment = Record<string, string>;
type Registered = Readonly<Record<"clientId" | "clientSecret", string>>;

describe.skipIf(!found("curl"))("the example of an agent and an MCP server", () => {
  const opened = new AsyncDisposableStack();
  let documents: Awaited<ReturnType<typeof serve>>;
  let postern: Postern;
  let folder: string;
  let resource: string;
  /** What the commands of its page print, one after the other. */
  let agentId: string;
  let machine: Registered;
  let acceptDocuments: () => Promise<unknown>;
  let grantEditor: (userId: string) => Promise<unknown>;
  beforeAll(async () => {
    const workshop = await openWorkshop("agent", join(root, "examples/agent"));
    folder = workshop.folder;
    await workshop.must("npm", "ci", "--no-audit", "--no-fund");
    documents = opened.use(await serve(answerDocument));
    const { url, outgoingCaFile } = documents;
    const settings = { outgoingCaFile, outgoingPrivateNetworks: loopback, clientDocumentHosts: [new URL(url).host] };
    postern = opened.use(await startPostern(settings));
    resource = `http://localhost:${await freePort()}/mcp`;
    await register();
    const server = startWebProgram({ ...inFolder("server.js"), env: environment(), line: /^Listening at (\S+)\n/m });
    expect(opened.use(await server).origin).toBe(resource);
  }, 300_000);
  afterAll(() => opened.disposeAsync());

  /** Runs the commands of the page, as they are but for the port. */
  async function register() {
    const env: Environment = { URL: postern.url, TOKEN: postern.admin.token ?? "" };
    const curls = [...textOf("examples/agent/README.md").matchAll(/```sh\n(curl .*?)```/gs)].map(([, one = ""]) => one);
    const [project, role, api, agent, grant, robot, robotGrant, secret, accept, ...others] = curls;
    expect(others).toEqual([]);
    const printed = async (command = "", more: Environment = {}) => {
      const here = command.replaceAll("http://localhost:4000/mcp", resource);
      return JSON.parse((await ended(["sh", "-c", here], { env: { ...env, ...more } })).out);
    };
    env.PROJECT = (await printed(project)).projectId;
    await printed(role);
    const server = await printed(api);
    expect(server).toMatchObject({ clientSecret: expect.any(String) });
    acceptDocuments = () => printed(accept, { APP: server.appId });
    agentId = (await printed(agent)).clientId;
    grantEditor = (userId) => printed(grant, { USER_ID: userId });
    env.USER_ID = (await printed(robot)).userId;
    await printed(robotGrant);
    machine = await printed(secret);
  }

  const environment = (more: Environment = {}) => ({ ISSUER: issuerOf(postern), RESOURCE: resource, ...more });
  const inFolder = (...args: string[]) => ({ command: [process.execPath, ...args] as const, cwd: folder });

  const asPerson = (person: Person, ...args: string[]) => asClient(agentId, person, ...args);

  /** Runs the agent as a client for a person, who signs in where it says and allows what it wants; answers what it printed after that. */
  async function asClient(clientId: string, person: Person, ...args: string[]) {
    const { command, cwd } = inFolder("agent.js", ...args);
    const child = spawn(command[0], command.slice(1), {
      cwd,
      env: { ...process.env, ...environment({ CLIENT_ID: clientId }) },
    });
    const closed = once(child, "close");
    let out = "";
    const url = new Promise<string>((resolve) => {
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (text: string) => {
          out += text;
          const line = /^Open (\S+)\n/m.exec(out);
          if (line?.[1]) resolve(line[1]);
        });
      void closed.then(() => resolve(`none:${out}`));
    });
    const asked = new URL(await url);
    const browser = openBrowser(issuerOf(postern));
    const shown = await signIn(browser, asked.href, person);
    const action = ["allow", "continue"].find((one) => shown.text.includes(`value="${one}"`));
    const back = action === undefined ? shown : await browser.submit(shown, {}, action);
    expect((await fetch(back.url)).status).toBe(200);
    const [code] = await closed;
    return { code, asked: answerIn({ url: asked.href }), shown: shown.text, out: out.replace(/^Open .*\n/, "") };
  }

  /** Serves the document of the page, under its own URL. */
  const answerDocument: RequestListener = (_, response) => {
    const [, text = ""] = /```json\n(\{\n {2}"client_id".*?)```/s.exec(textOf("examples/agent/README.md")) ?? [];
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(text.replace("https://agent.example", documents.url));
  };

  test("an agent that nobody has registered brings a document, and a person allows its host to use the tools", async () => {
    const [person, clientId] = [await signedUp(postern), `${documents.url}/client.json`];
    await acceptDocuments();
    const first = await asClient(clientId, person);
    expect(first).toMatchObject({
      code: 0,
      out: "list_notes: Lists all notes\n",
      asked: { client_id: clientId, resource },
    });
    expect(first.shown).toContain(`${new URL(documents.url).host} is not known to`);
    await grantEditor(person.userId);
    expect((await asClient(clientId, person, "add_note", "Buy tea")).out).toBe(`Added by ${person.userId}\n`);
    expect((await asClient(clientId, person, "list_notes")).out).toContain(`${person.userId}: Buy tea\n`);
  });

  const asMachine = (...args: string[]) => {
    const { command, cwd } = inFolder("agent.js", ...args);
    return ended(command, {
      cwd,
      env: environment({ CLIENT_ID: machine.clientId, CLIENT_SECRET: machine.clientSecret }),
    });
  };

  test("a person signs in for the server, and the agent has the tools that the person's roles allow", async () => {
    const person = await signedUp(postern);
    const before = await asPerson(person);
    expect(before.asked).toMatchObject({ resource, scope: "notes:read notes:write", client_id: agentId });
    expect(before).toMatchObject({ code: 0, out: "list_notes: Lists all notes\n" });
    await grantEditor(person.userId);
    expect((await asPerson(person)).out).toBe("list_notes: Lists all notes\nadd_note: Adds a note\n");
    expect((await asPerson(person, "add_note", "Buy milk")).out).toBe(`Added by ${person.userId}\n`);
    expect((await asPerson(person, "list_notes")).out).toContain(`${person.userId}: Buy milk\n`);
  });

  test("a machine uses the tools without a person", async () => {
    const tools = "list_notes: Lists all notes\nadd_note: Adds a note\n";
    expect(await asMachine()).toEqual({ code: 0, out: tools, err: "" });
    const { out } = await asMachine("add_note", "Count the milk");
    const [, userId] = /^Added by (\S+)\n$/.exec(out) ?? [];
    expect((await asMachine("list_notes")).out).toContain(`${userId}: Count the milk\n`);
  });

  const callWith = (headers: Environment) =>
    fetch(resource, {
      method: "POST",
      headers: { accept: "application/json, text/event-stream", "content-type": "application/json", ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
  const tokenFor = (more: Environment) =>
    post(issuerOf(postern), "/oauth/token", { grant_type: "client_credentials", ...more }, basic(machine));

  test("without a token for it, the server says where one is to be had", async () => {
    const [none, other] = [await callWith({}), await callWith({ authorization: "Bearer other" })];
    const metadata = `${new URL(resource).origin}/.well-known/oauth-protected-resource/mcp`;
    for (const response of [none, other]) {
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toContain(`resource_metadata="${metadata}"`);
    }
    const [scopes_supported, authorization_servers] = [["notes:read", "notes:write"], [issuerOf(postern)]];
    const described = await (await fetch(metadata)).json();
    expect(described).toEqual({ resource, authorization_servers, scopes_supported, resource_name: "Notes" });
  });

  test("a token for another API of the project is none for the server", async () => {
    const { admin } = postern;
    const { body: projects } = await admin.get("/v1/projects?filter.name=Notes");
    const { id: projectId } = projects.projects[0];
    const uri = "https://other.example/mcp";
    const scopes = [{ name: "notes:write", texts: { en: "add notes" } }];
    const wanted = { name: "Other", resourceUris: [uri], accessTokenType: "OIDC_TOKEN_TYPE_JWT", scopes };
    expect((await admin.post(`/v1/projects/${projectId}/applications/api`, wanted)).status).toBe(200);
    const [own, another] = [await tokenFor({ resource }), await tokenFor({ resource: uri, scope: "notes:write" })];
    expect([own.status, another.status]).toEqual([200, 200]);
    const bearer = ({ body }: { body: Environment }) => callWith({ authorization: `Bearer ${body.access_token}` });
    expect((await bearer(own)).status).toBe(200);
    expect((await bearer(another)).status).toBe(401);
  });
});
