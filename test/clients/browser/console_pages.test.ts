import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { type Postern, signedUp, startPostern } from "../../harness.ts";
import { issuerOf } from "../../provider/application.ts";
import { found } from "../toolchains.ts";
import { faultsIn } from "./axe.ts";
import { type Browser, type Page, startChromium } from "./chromium.ts";
import { dialogsOf, type Look } from "./console/dialogs.ts";
import { follow } from "./console/stage.ts";
import { shows, submit } from "./forms.ts";

const timeout = 300_000;
const frameOf = `((selector) => {
  const around = document.querySelector(selector);
  return [
    ...(around.scrollWidth > around.clientWidth ? ["it is wider than its frame"] : []),
    ...(around.querySelector("form") && document.activeElement.closest(".dialog-head") ? ["the focus is on what closes it"] : []),
  ];
})`;
const widthOf = "(() => document.documentElement.scrollWidth)";
const click = "((selector) => { document.querySelector(selector).click(); })";
/** Writes into the field with this label, as a person would. */
const write = `((label, text) => {
  const named = [...document.querySelectorAll("dialog label, main label")].find((one) => one.textContent.trim().startsWith(label));
  const field = named.control ?? named.querySelector("input");
  field.focus();
  if (field.type === "checkbox" || field.type === "radio") return field.click();
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
})`;
const send = `(() => { document.querySelector("dialog form, main form").requestSubmit(); })`;
const choose = `(() => {
  const option = document.querySelector("[role=option]");
  option.dispatchEvent(new MouseEvent("mousedown", { bubbles: true, cancelable: true }));
})`;
const count = "((selector) => document.querySelectorAll(selector).length)";
const heading = "(() => document.querySelector('main h1')?.textContent)";
const textOf = "(() => document.body.innerText)";
const kept = "(() => JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), location.href]))";

const has = (page: Page, selector: string) =>
  vi.waitFor(async () => expect(await page.run(count, selector), selector).toBeGreaterThan(0), 60_000);

describe.skipIf(!found("chromium"))("the pages of the console, in Chromium", () => {
  const opened = new AsyncDisposableStack();
  let chromium: Browser;
  let postern: Postern;
  let issuer: string;
  let page: Page;
  let projectId: string;
  let userId: string;

  beforeAll(async () => {
    chromium = opened.use(await startChromium());
    postern = opened.use(await startPostern());
    issuer = issuerOf(postern);
    const owner = await signedUp(postern);
    await postern.admin.post("/v1/members", { userId: owner.userId, roles: ["INSTANCE_OWNER"], instance: true });
    projectId = (await postern.admin.post("/v1/projects", { name: "Shop" })).body.projectId;
    await postern.admin.post(`/v1/projects/${projectId}/roles`, { key: "viewer", displayName: "Viewer" });
    userId = (await signedUp(postern)).userId;
    page = await chromium.open(`${issuer}/console/`);
    await shows(page, pageText("password", "en"));
    await submit(page, { login_name: owner.username, password: owner.password }, "password");
    await has(page, ".frame");
  }, timeout);
  afterAll(() => opened.disposeAsync());

  const go = async (path: string) => {
    await page.raw("Page.navigate", { url: `${issuer}/console${path}` });
    await has(page, "main h1");
    await vi.waitFor(async () => expect(await page.run(count, ".waiting")).toBe(0), 60_000);
  };
  // A page with a query may replace its address, which `follow` waits for.
  const turnTo = (path: string) => (path.includes("?") ? go(path) : follow(page, path));
  const press = async (key: string, code = key) => {
    const text = key === "Enter" ? { text: "\r" } : {};
    await page.raw("Input.dispatchKeyEvent", {
      type: "keyDown",
      key,
      code,
      windowsVirtualKeyCode: keyCodes[code] ?? 0,
      ...text,
    });
    await page.raw("Input.dispatchKeyEvent", { type: "keyUp", key, code, windowsVirtualKeyCode: keyCodes[code] ?? 0 });
  };
  const faultsOf = async (selector: string) => [
    ...(await faultsIn(page, selector)),
    ...((await page.run(frameOf, selector)) as string[]),
  ];
  const type = (text: string) => page.raw("Input.insertText", { text });
  const focusOn = (selector: string) =>
    page.run("((selector) => { document.querySelector(selector).focus(); })", selector);

  test("the phone of a user is changed", { timeout }, async () => {
    await go(`/users/${userId}`);
    await page.run(click, "#change-phone");
    await has(page, "dialog[open]");
    await page.run(write, "Phone", "12");
    await page.run(send);
    await has(page, "dialog [aria-invalid=true]");
    await page.run(write, "Phone", "+442079460958");
    await page.run(write, "It is verified", "");
    await page.run(send);
    await vi.waitFor(async () => expect(await page.run(count, "dialog[open]")).toBe(0), 60_000);
    const { body } = await postern.admin.get(`/v1/users/${userId}`);
    expect(body.user.human).toMatchObject({ phone: "+442079460958", phoneVerified: true });
  });

  test("a user is created, and the form is filled by the keyboard alone", { timeout }, async () => {
    await go("/users");
    await focusOn("#create-user");
    await press("Enter");
    await has(page, "dialog[open]");
    // The focus is on the kind, which is a person already.
    for (const text of ["Grace", "Hopper", "grace@example.com"]) {
      await press("Tab");
      await type(text);
    }
    await press("Tab");
    await press("Tab");
    await type("grace.hopper");
    await press("Enter");
    await shows(page, "Grace Hopper");
    expect(await page.run("(() => document.querySelector('h1').textContent)")).toBe("Grace Hopper");
    const users = await postern.admin.get("/v1/users?filter.loginName=grace.hopper");
    expect(users.body.users).toHaveLength(1);
  });

  test("a user gets a role", { timeout }, async () => {
    await go(`/users/${userId}/access`);
    await page.run(click, "#add-grant");
    await page.run(write, "Project", "Shop");
    const first = "(() => document.querySelector('dialog [role=option]')?.textContent)";
    await vi.waitFor(async () => expect(await page.run(first)).toMatch(/^Shop/), 60_000);
    await page.run(choose);
    await has(page, "dialog .checks input");
    await page.run(click, "dialog .checks input");
    await page.run(send);
    await has(page, "main table .badge.good");
    const grants = await postern.admin.get(`/v1/user-grants?userId=${userId}`);
    expect(grants.body.userGrants[0]).toMatchObject({ projectId, roleKeys: ["viewer"] });
  });

  test("an application is created; what its configuration lacks is said while one writes, and its secret once", {
    timeout,
  }, async () => {
    await go(`/projects/${projectId}/applications/new`);
    await page.run(write, "Name", "Storefront");
    await page.run(write, "Redirect URIs", "https://*.example.com/callback");
    await has(page, ".compliance.off");
    await page.run(write, "Redirect URIs", "https://shop.example.com/callback");
    await has(page, ".compliance.good");
    await page.run(send);
    await has(page, "dialog .once code");
    const secret = String(await page.run("(() => document.querySelector('dialog .once code').textContent)"));
    expect(secret.length).toBeGreaterThan(20);
    await page.run(click, "dialog .once ~ button");
    await has(page, "main h1");
    await shows(page, "Storefront");
    expect(await page.run("(() => document.documentElement.outerHTML)")).not.toContain(secret);
    expect(await page.run(kept)).not.toContain(secret);
  });

  test("two administrators who edit one user lose nothing: both versions are shown, and one is chosen", {
    timeout,
  }, async () => {
    await go(`/users/${userId}`);
    await page.run(click, "main .card .button");
    await page.run(write, "Given name", "Augusta");
    await postern.admin.call("PATCH", `/v1/users/${userId}/human`, { familyName: "King" });
    await page.run(send);
    await has(page, ".conflict");
    expect(await page.run(textOf)).toContain("King");
    await page.run(click, ".conflict .button.main");
    await shows(page, "Augusta King");
    const { body } = await postern.admin.get(`/v1/users/${userId}`);
    expect(body.user.human).toMatchObject({ givenName: "Augusta", familyName: "King" });
  });

  test("Ctrl K finds applications and acts, and Why says what stands in the way", { timeout }, async () => {
    await go("/");
    const find = async (text: string, first: RegExp) => {
      await page.run("(() => { document.querySelector('.find').click(); })");
      await has(page, "dialog[open] [role=combobox]:focus");
      await type(text);
      const found = "(() => document.querySelector('dialog [role=option]')?.textContent)";
      await vi.waitFor(async () => expect(await page.run(found)).toMatch(first), 60_000);
      await press("Enter");
    };
    await find("Storefr", /^Storefront/);
    await vi.waitFor(async () => expect(await page.run(heading)).toBe("Storefront"), 60_000);
    await find("Create proj", /^Create project/);
    await has(page, "dialog[open] form");
    await press("Escape");
    const { body } = await postern.admin.get(`/v1/projects/${projectId}/applications`);
    await postern.admin.post(`/v1/users/${userId}:deactivate`);
    await go(`/why?user=${userId}&project=${projectId}&app=${body.applications[0].id}`);
    await has(page, ".verdict.bad");
    await has(page, `.refused a[href^="/console/users/${userId}"]`);
    await postern.admin.post(`/v1/users/${userId}:reactivate`);
  });

  test("an event appears while one looks", { timeout }, async () => {
    await go("/events");
    await has(page, ".live.on");
    await postern.admin.post("/v1/projects", { name: "While one looks" });
    await shows(page, "While one looks");
  });

  test("no page has a fault of accessibility or is too wide, in light and dark, and the browser has nothing to say", {
    timeout,
  }, async () => {
    await go("/users");
    for (const path of await paths()) {
      await page.onScreen(1280);
      await turnTo(path);
      for (const [width, scheme] of [
        [1280, "light"],
        [360, "dark"],
      ] as const) {
        await page.onScreen(width);
        await page.inColors(scheme);
        expect([path, scheme, await faultsIn(page)]).toEqual([path, scheme, []]);
        expect(await page.run(widthOf), `${path} at ${width}`).toBeLessThanOrEqual(width);
      }
    }
    expect(await page.run(kept)).not.toMatch(/cn_|oc_/);
    // A refused phone, and a sequence that was overtaken.
    expect(page.messages.filter((text) => !/status of (400|409)/.test(text))).toEqual([]);
  });

  test("no dialog and no form has a fault of accessibility, as it opens and when it is refused", {
    timeout,
  }, async () => {
    const seen = new Set<string>();
    const look: Look = async (title, state) => {
      const isOpen = state === "open";
      await page.onScreen(isOpen ? 1280 : 360);
      await page.inColors(isOpen ? "light" : "dark");
      const selector = "dialog[open], main .card:has(form.form:not(.wizard *))";
      expect([title, state, await faultsOf(selector)]).toEqual([title, state, []]);
    };
    await go("/users");
    for (const path of await paths()) {
      await page.onScreen(1280);
      await turnTo(path);
      await dialogsOf(page, seen, look);
    }
    expect(seen.size).toBeGreaterThan(35);
    // What the frame of all pages opens: the search, and the calls that the page made.
    for (const opener of [".find", ".top > .button"]) {
      await page.run(click, opener);
      await vi.waitFor(async () => expect([opener, await faultsOf("dialog[open]")]).toEqual([opener, []]), 20_000);
      await page.run(click, "dialog[open] .dialog-head .copy");
    }
  });

  async function paths(): Promise<string[]> {
    const { body } = await postern.admin.get(`/v1/projects/${projectId}/applications`);
    const application = `/projects/${projectId}/applications/${body.applications[0].id}`;
    return [
      ...[
        "/",
        "/users",
        "/projects",
        "/applications",
        "/organizations",
        "/events",
        "/deliveries",
        "/roles",
        "/why",
        `/why?user=${userId}&kind=role&project=${projectId}&role=viewer`,
      ],
      ...["", "/access", "/security", "/applications", "/history"].map((part) => `/users/${userId}${part}`),
      ...[
        "",
        "/grants",
        "/applications",
        "/applications/new",
        "/organizations",
        "/members",
        "/settings",
        "/history",
      ].map((part) => `/projects/${projectId}${part}`),
      ...["", "/policies", "/branding", "/domains", "/invitations", "/members", "/history"].map(
        (part) => `/organizations/${postern.organizationId}${part}`,
      ),
      ...["", "/branding", "/members", "/history"].map((part) => `/instance${part}`),
      ...["", "/connect", "/history"].map((part) => `${application}${part}`),
    ];
  }
});

const keyCodes: Readonly<Record<string, number>> = { Tab: 9, Enter: 13, Escape: 27 };
