import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Postern, startPostern } from "../../harness.ts";
import { found } from "../toolchains.ts";
import { type Browser, type Page, startChromium } from "./chromium.ts";

const functions = readFileSync(new URL("./reference_in_page.js", import.meta.url), "utf8").replaceAll("export ", "");

/** An expression for one of the functions that run in the page. */
const inPage = (name: string) => `(() => { ${functions}; return ${name}; })()`;

type Shown = { readonly status: string; readonly output: string };

describe.skipIf(!found("chromium"))("the page of the reference in Chromium", () => {
  const opened = new AsyncDisposableStack();
  afterAll(() => opened.disposeAsync());
  let postern: Postern;
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    postern = opened.use(await startPostern());
    browser = opened.use(await startChromium());
    page = await browser.open(`${postern.url}/`);
  });

  test("the root leads to it, and its policy refuses nothing that it needs", async () => {
    expect(await page.run("(() => location.pathname)")).toBe("/docs");
    expect(new Set(page.requests)).toEqual(new Set(["GET /", "GET /docs", "GET /docs/browser.js"]));
    expect(page.messages).toEqual([]);
    expect(await page.run("(() => document.getElementById('environment').textContent)")).toContain(postern.url);
  });

  test("the search finds operations by name, path and reason", async () => {
    const search = (query: string) => page.run(inPage("searched"), query);
    expect(page.requests).not.toContain("GET /docs/search.json");
    expect(await search("change phone")).toContain("ChangePhone");
    expect(await search("/v1/users/{userId}/grants")).toContain("AddUserGrant");
    expect(await search("USER_GRANT_EXISTS")).toEqual(expect.arrayContaining(["409"]));
    expect(await search("zzz zzz")).toEqual(["Nothing found"]);
    expect(await search("")).toEqual([]);
  });

  const operation = (id: string) => page.run(inPage("followed"), `/docs/${id.replace("-", "/")}`);

  test("a call is made with the token, here and nowhere else, and shows what came", async () => {
    await operation("UserService-GetUser");
    const asked = { id: "UserService-GetUser", token: postern.admin.token, fields: { userId: postern.adminId } };
    const { status, output } = (await page.run(inPage("called"), asked)) as Shown;
    expect(status).toMatch(/^200 after \d+ ms/);
    expect(JSON.parse(output)).toMatchObject({ user: { id: postern.adminId } });
    expect(page.requests.at(-1)).toBe(`GET /v1/users/${postern.adminId}`);
    // The token went into each form, and nowhere that outlives the page.
    const kept =
      "(() => JSON.stringify([localStorage, sessionStorage, document.cookie, history.state, location.href]))";
    expect(await page.run(kept)).not.toContain(postern.admin.token);
  });

  test("the token stays on the next page; a body goes as it stands in the form, and a refusal is shown", async () => {
    const project = { id: "ProjectService-CreateProject" };
    const documents = page.requests.filter((one) => one === "GET /docs/browser.js").length;
    expect(await operation(project.id)).toContain("CreateProject");
    expect(page.requests.filter((one) => one === "GET /docs/browser.js")).toHaveLength(documents);
    const { status } = (await page.run(inPage("called"), { ...project, body: '{"name": "From the page"}' })) as Shown;
    expect(status).toMatch(/^200 /);
    const { body } = await postern.admin.get("/v1/projects");
    expect(body.projects.map(({ name }: { name: string }) => name)).toContain("From the page");
    const again = (await page.run(inPage("called"), { ...project, body: '{"name": "From the page"}' })) as Shown;
    expect([again.status.slice(0, 4), JSON.parse(again.output).code]).toEqual(["409 ", 6]);
  });

  test("what an answer holds is shown as text", async () => {
    const body = '{"name": "<img src=x onerror=alert(1)>"}';
    const created = { id: "ProjectService-CreateProject", body };
    expect(((await page.run(inPage("called"), created)) as Shown).status).toMatch(/^200 /);
    await operation("ProjectService-ListProjects");
    const { output } = (await page.run(inPage("called"), { id: "ProjectService-ListProjects" })) as Shown;
    expect(output).toContain("<img src=x");
    expect(await page.run("(() => document.images.length)")).toBe(0);
  });

  test("its policy keeps it from any other server", async () => {
    const elsewhere = "(async () => fetch('https://127.0.0.1:1/').then(() => 'sent', () => 'refused'))";
    expect(await page.run(elsewhere)).toBe("refused");
    expect(page.messages.join()).toMatch(/Content Security Policy|violates/);
  });

  test("it copies a sample, and shows the language of the reader on the next page", async () => {
    expect(await page.run(inPage("copied"))).toBe("Copied");
    await page.run(inPage("goChosen"));
    await operation("ProjectService-GetProject");
    expect(await page.run(inPage("openLanguages"))).toEqual(["Go"]);
  });

  const place = "(() => [location.pathname, location.hash])";

  test("back leads to the page before, where it was left", async () => {
    const own = await browser.open(`${postern.url}/docs`);
    await own.run("(() => scrollTo(0, 900))");
    await own.run(inPage("followed"), "/docs/SessionService/ListSessions");
    expect(await own.run("(() => [location.pathname, scrollY])")).toEqual(["/docs/SessionService/ListSessions", 0]);
    expect(await own.run(inPage("wentBack"))).toContain("Overview");
    expect(await own.run("(() => [location.pathname, scrollY])")).toEqual(["/docs", 900]);
  });

  test("links of the time when the reference was one page lead to what they meant", async () => {
    for (const [old, now] of [
      ["UserService-GetUser", ["/docs/UserService/GetUser", ""]],
      ["type-User", ["/docs/types/User", ""]],
      ["status-409", ["/docs/errors", "#status-409"]],
      ["UserService", ["/docs", "#UserService"]],
      ["type-../x", ["/docs", "#type-../x"]],
    ] as const) {
      const led = await browser.open(`${postern.url}/docs#${old}`);
      await expect.poll(() => led.run(place).catch(() => [])).toEqual(now);
    }
  });

  test.each(["/docs", "/docs/UserService/ListUsers", "/docs/types/User", "/docs/types", "/docs/errors"])(
    "%s has no sideways scroll on a screen of 360 pixels",
    async (path) => {
      const narrow = await browser.open(postern.url + path);
      await narrow.onScreen(360);
      expect(await narrow.run("(() => [innerWidth, document.documentElement.scrollWidth])")).toEqual([360, 360]);
    },
  );
});
