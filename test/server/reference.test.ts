import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http2";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Document, Schema } from "../../packages/gateway/src/services/openapi/document.ts";
import { broken } from "../contract/schema_check.ts";
import { pagesOf, sectionsOf } from "../fixture/reference_page.ts";
import { type Answer, type Postern, startPostern } from "../harness.ts";

let postern: Postern;
let document: Document;

beforeAll(async () => {
  postern = await startPostern();
  document = (await postern.as().get("/openapi.json")).body;
});
afterAll(() => postern[Symbol.asyncDispose]());

const page = (path: string, init?: RequestInit) => fetch(postern.url + path, init);

/** The rules of the document that an answer breaks. */
function breaks(path: string, method: string, { status, body }: Answer): string[] {
  const described = document.paths[path]?.[method]?.responses[status];
  if (!described) return [`${status} is not foreseen`];
  const response = "$ref" in described ? document.components.responses[described.$ref.replace(/.*\//, "")] : described;
  return broken(document, response?.content["application/json"]?.schema ?? { enum: [] }, body);
}

test("the document is answered to anyone, and not sent again to who has it", async () => {
  const first = await page("/openapi.json");
  expect(first.status).toBe(200);
  expect(first.headers.get("content-type")).toBe("application/json");
  expect(first.headers.get("cache-control")).toBe("no-cache");
  const etag = first.headers.get("etag") ?? "";
  expect(etag).toMatch(/^"[\w-]+"$/);
  for (const known of [etag, `"other", W/${etag}`, "*"]) {
    const again = await page("/openapi.json", { headers: { "if-none-match": known } });
    expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", etag]);
  }
  expect((await page("/openapi.json", { headers: { "if-none-match": '"other"' } })).status).toBe(200);
  const head = await page("/openapi.json", { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
});

test("the document is compressed as the client can read it", async () => {
  for (const [accept, encoding] of [
    ["gzip", "gzip"],
    ["br", "br"],
    ["zstd, gzip", "zstd"],
    ["identity", null],
  ] as const) {
    const answer = await page("/openapi.json", { headers: { "accept-encoding": accept } });
    expect([answer.headers.get("content-encoding"), answer.headers.get("vary")]).toEqual([encoding, "accept-encoding"]);
    expect(await answer.json()).toEqual(document);
  }
});

test("over HTTP/2 it is the same document, and as little is sent again", async () => {
  const session = connect(postern.url);
  const get = (headers: OutgoingHttpHeaders) =>
    new Promise<{ headers: IncomingHttpHeaders; body: string }>((resolve, reject) => {
      const stream = session.request({ ":path": "/openapi.json", ...headers });
      stream
        .on("error", reject)
        .on("response", async (received) => resolve({ headers: received, body: await text(stream) }));
    });
  const first = await get({});
  expect(JSON.parse(first.body)).toEqual(document);
  const again = await get({ "if-none-match": first.headers.etag });
  expect([again.headers[":status"], again.body]).toEqual([304, ""]);
  session.close();
});

test("other methods are refused with what is allowed", async () => {
  for (const path of ["/openapi.json", "/docs"]) {
    const answer = await page(path, { method: "POST" });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  }
});

test("what the server answers is what the document says", async () => {
  const { admin, adminId } = postern;
  const project = await admin.post("/v1/projects", { name: "Described" });
  expect(breaks("/v1/projects", "post", project)).toEqual([]);
  const { projectId } = project.body;
  const role = await admin.post(`/v1/projects/${projectId}/roles`, { key: "editor", displayName: "Editor" });
  expect(breaks("/v1/projects/{projectId}/roles", "post", role)).toEqual([]);
  const app = await admin.post(`/v1/projects/${projectId}/applications/oidc`, { name: "Web" });
  expect(breaks("/v1/projects/{projectId}/applications/oidc", "post", app)).toEqual([]);
  const items = [
    { userId: adminId, projectId, roleKeys: ["editor"] },
    { userId: "nobody", projectId },
  ];
  const grants = await admin.post("/v1/user-grants:batchAdd", { items });
  expect(grants.body.outcomes.map((one: object) => Object.keys(one)[0])).toEqual(["added", "refused"]);
  expect(breaks("/v1/user-grants:batchAdd", "post", grants)).toEqual([]);
  for (const path of [
    "/v1/users/me",
    "/v1/events",
    "/v1/users",
    "/v1/members",
    "/v1/policies/password",
    "/v1/sessions",
  ]) {
    const answer = await admin.get(path);
    expect(answer.status, path).toBe(200);
    expect(breaks(path, "get", answer), path).toEqual([]);
  }
});

test("refusals are as the document says", async () => {
  const { admin, adminId, as } = postern;
  const german = { "accept-language": "de" };
  const phone = "/v1/users/{userId}/phone";
  const refusals = [
    [phone, "post", await admin.post(`/v1/users/${adminId}/phone`, { phone: "", odd: 1 }, german)],
    [phone, "post", await admin.post("/v1/users/nobody/phone", { phone: "+41446681800" }, german)],
    ["/v1/users/me", "get", await as().get("/v1/users/me")],
    ["/v1/projects", "post", await admin.post("/v1/projects", { name: "Described" })],
    ["/v1/projects", "post", await admin.post("/v1/projects", {}, { "x-service-orgid": "nowhere" })],
    ["/v1/sessions", "post", await as().post("/v1/sessions", { loginName: "nobody", password: "x" })],
  ] as const;
  for (const [path, method, answer] of refusals) {
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(breaks(path, method, answer), `${path} ${answer.status}`).toEqual([]);
  }
});

test("each refusal has an example of its body, such as the server answers", async () => {
  const { admin, adminId, as } = postern;
  const real = [
    await admin.get("/v1/users/nobody"),
    await as("pt_unknown").get("/v1/users/me"),
    await admin.post(`/v1/users/${adminId}/phone`, {}),
  ];
  const exampleOf = (status: number | string) =>
    document.components.responses[status]?.content["application/json"]?.example;
  for (const { status, body } of real) expect(exampleOf(status)).toEqual(body);
  const used = new Set(
    Object.values(document.paths).flatMap((item) =>
      Object.values(item).flatMap(({ responses }) => Object.keys(responses)),
    ),
  );
  for (const status of used)
    if (status !== "200")
      expect(broken(document, { $ref: "#/components/schemas/Error" }, exampleOf(status))).toEqual([]);
});

test("a body of which the document says that it is wrong is refused", async () => {
  const schema: Schema = document.components.schemas.CreateHumanUserRequest ?? {};
  const person = { username: "ada", givenName: "Ada", familyName: "Byron", email: "ada@example.com" };
  const bodies = [
    {},
    { ...person, userId: "a b" },
    { ...person, odd: true },
    { ...person, givenName: "x".repeat(201) },
  ];
  expect(broken(document, schema, person)).toEqual([]);
  for (const body of bodies) {
    expect(broken(document, schema, body)).not.toEqual([]);
    expect((await postern.admin.post("/v1/users/human", body)).status).toBe(400);
  }
});

test("the page needs nothing but itself and its script, and lets nothing else in", async () => {
  for (const path of ["/docs", "/docs/errors", "/docs/types", "/docs/types/User", "/docs/UserService/GetUser"])
    await expectClosed(path);
});

/** Expects that a page loads its style and the script of the reference alone, and that its policy allows no more. */
async function expectClosed(path: string) {
  const answer = await page(path);
  expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
  const policy = answer.headers.get("content-security-policy") ?? "";
  const html = await answer.text();
  const style = /<style>([\s\S]*?)<\/style>/.exec(html)?.[1] ?? "";
  expect(policy.split("; ")).toEqual(
    expect.arrayContaining([
      "default-src 'none'",
      "script-src 'self'",
      "connect-src 'self'",
      "require-trusted-types-for 'script'",
      `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
    ]),
  );
  expect(policy).not.toContain("unsafe");
  const scripts = [...html.matchAll(/<script[^>]*>/g)].map(([tag]) => tag);
  expect(scripts).toEqual(['<script type="module" src="/docs/browser.js">']);
  expect(html.replace(scripts[0] ?? "", "")).not.toMatch(
    /<script|<img|<link|<iframe|@import|url\(|style=|src=|\son\w+=/,
  );
  for (const [, href = ""] of html.matchAll(/href="([^"]*)"/g)) expect(href).toMatch(/^(#|\/openapi\.json$|\/docs\b)/);
}

test("the script of the page is a file of this server, and not sent again to who has it", async () => {
  const script = await page("/docs/browser.js");
  expect([script.status, script.headers.get("content-type")]).toEqual([200, "text/javascript"]);
  expect(script.headers.get("x-content-type-options")).toBe("nosniff");
  const again = await page("/docs/browser.js", { headers: { "if-none-match": script.headers.get("etag") ?? "" } });
  expect(again.status).toBe(304);
  // Responses are shown on the page: they go in as text.
  expect(await script.text()).not.toMatch(
    /innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|localStorage|cookie/,
  );
});

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

test("a browser at the root is sent to the page, any other client finds in its refusal where it is", async () => {
  const start = (accept: string, method = "GET") => page("/", { method, redirect: "manual", headers: { accept } });
  for (const method of ["GET", "HEAD"]) {
    const led = await start(browser, method);
    expect([led.status, led.headers.get("location"), led.headers.get("vary")]).toEqual([303, "/docs", "accept"]);
  }
  for (const accept of ["*/*", "application/json", "text/html;q=0, */*", "text/htmlx"]) {
    const refused = await start(accept);
    expect(refused.status, accept).toBe(404);
    expect(refused.headers.get("link")).toContain('</docs>; rel="service-doc"');
    const { details } = (await refused.json()) as { details: unknown };
    expect(details).toMatchObject([{ reason: "UNKNOWN_PATH", metadata: { docs: "/docs", openapi: "/openapi.json" } }]);
  }
});

test("with a slash at its end, the path of the page leads to it", async () => {
  const led = await page("/docs/", { redirect: "manual" });
  expect([led.status, led.headers.get("location")]).toEqual([308, "/docs"]);
  expect((await page("/docs/")).url).toBe(`${postern.url}/docs`);
});

test("every operation and type has a page, and every link leads somewhere", async () => {
  const pages = await pagesOf(postern.url);
  const idsOf = (html = "") => [...html.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id);
  for (const [path, html] of pages) {
    expect(new Set(idsOf(html)).size, path).toBe(idsOf(html).length);
    for (const [, target = "", id] of html.matchAll(/href="(\/docs[^"#]*|)#([^"]*)"/g))
      expect(idsOf(pages.get(target || path)), `${path} links to ${target}`).toContain(id);
  }
  for (const item of Object.values(document.paths))
    for (const { "x-rpc": rpc } of Object.values(item))
      expect(pages.get(rpc.replace("/postern.v1.", "/docs/")), rpc).toContain(`<code>${rpc}</code>`);
  for (const name of Object.keys(document.components.schemas))
    expect([...pages.keys()]).toContain(`/docs/types/${name}`);
});

test("no page is long: browsers lay out each at once", async () => {
  const sizes = [...(await pagesOf(postern.url))].map(([path, html]) => [path, html.length] as const);
  const lists = ["/docs", "/docs/types"];
  expect(sizes.filter(([path, size]) => size > (lists.includes(path) ? 128 : 64) * 1024)).toEqual([]);
});

test("links of the time when the reference was one page find their operation on the first one, without a script", async () => {
  const html = await (await page("/docs")).text();
  for (const item of Object.values(document.paths))
    for (const { "x-rpc": rpc } of Object.values(item)) {
      const [service = "", name = ""] = rpc.replace("/postern.v1.", "").split("/");
      expect(html).toContain(`<li id="${service}-${name}">\n<a href="/docs/${service}/${name}">`);
    }
});

test("a page is not sent again to who has it, and a path without a page is refused", async () => {
  const first = await page("/docs/UserService/GetUser");
  const etag = first.headers.get("etag") ?? "";
  const again = await page("/docs/UserService/GetUser", { headers: { "if-none-match": etag } });
  expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", etag]);
  for (const path of ["/docs/UserService", "/docs/UserService/Nothing", "/docs/types/Nothing", "/docs/../docs/x"])
    expect((await page(path)).status, path).toBe(404);
});

test("the search knows every page by its words", async () => {
  const answer = await page("/docs/search.json");
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json"]);
  const hits = (await answer.json()) as { href: string; title: string; words: string }[];
  const found = new Set(hits.map(({ href }) => href.replace(/#.*/, "")));
  const pages = [...(await pagesOf(postern.url)).keys()].filter((path) => !["/docs", "/docs/types"].includes(path));
  expect(pages.filter((path) => !found.has(path))).toEqual([]);
  const titlesWith = (word: string) => hits.filter(({ words }) => words.includes(word)).map(({ title }) => title);
  expect(titlesWith("USER_GRANT_EXISTS".toLowerCase())).toEqual(expect.arrayContaining(["409"]));
  expect(titlesWith("/v1/users/{userid}/phone")).toEqual(expect.arrayContaining(["ChangePhone", "RemovePhone"]));
});

const languages = ["curl", "grpcurl", "TypeScript", "Go", "Python"];

test("every operation has its samples and a form for its call", async () => {
  const sections = await sectionsOf(postern.url);
  const rpcs = new Set(Object.values(document.paths).flatMap((item) => Object.values(item).map((one) => one["x-rpc"])));
  expect(sections.length).toBe(rpcs.size);
  for (const { id, call, samples } of sections) {
    expect(Object.keys(samples), id).toEqual(languages);
    expect(document.paths[call.path]?.[call.verb.toLowerCase()], id).toBeDefined();
  }
});

test("a sample runs as it stands: TypeScript creates a project, and reads it", async () => {
  const sections = await sectionsOf(postern.url);
  const run = async (id: string, environment: Readonly<Record<string, string>>) => {
    const sample = sections.find((section) => section.id === id)?.samples.TypeScript ?? "";
    const env = { ...process.env, URL: postern.url, TOKEN: postern.admin.token, ...environment };
    return (await promisify(execFile)(process.execPath, ["--input-type=module-typescript", "-e", sample], { env }))
      .stdout;
  };
  const created = await run("ProjectService-CreateProject", {});
  expect(created).toMatch(/^200 \{/);
  const [, projectId = ""] = /projectId: '(\w+)'/.exec(created) ?? [];
  expect(await run("ProjectService-GetProject", { PROJECT_ID: projectId })).toContain(projectId);
  expect(await run("ProjectService-GetProject", { PROJECT_ID: "nothing" })).toMatch(/^404 \{/);
  const robot = await postern.admin.post("/v1/users/machine", { username: "a+b", name: "Robot" });
  expect(await run("UserService-GetUserByLoginName", { LOGIN_NAME: "a+b" })).toContain(robot.body.userId);
});
