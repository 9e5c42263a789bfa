import { expect, test, vi } from "vitest";
import { pageText } from "../../../../src/messages/page.ts";
import { signedUp } from "../../../harness.ts";
import type { Page } from "../chromium.ts";
import { shows } from "../forms.ts";
import { follow, has, hasNot, press, type Stage, send, textOf, write } from "./stage.ts";

/** Several administrators at work, and a server that answers late, seldom or not at all. */
export function writes(stage: () => Stage): void {
  test("two administrators who edit one application lose no field", async () => {
    const { signIn, owner, projectId, appId, nodes } = stage();
    const [page, other] = [await signIn(owner), await signIn(await secondOwner())];
    const path = `/projects/${projectId}/applications/${appId}`;
    for (const one of [page, other]) {
      await follow(one, path);
      await edit(one, "Redirect URIs");
    }
    await write(page, "Redirect URIs", "https://shop.example.com/one");
    await send(page);
    await hasNot(page, "main form");
    await write(other, "Name", "Shop window");
    await send(other);
    await has(other, ".conflict");
    expect(await textOf(other)).toContain("https://shop.example.com/one");
    await press(other, ".conflict .button.main");
    await hasNot(other, ".conflict");
    const { body } = await nodes.one.admin.get(`/v1/projects/${projectId}/applications/${appId}`);
    expect(body.application).toMatchObject({
      name: "Shop window",
      oidc: { redirectUris: ["https://shop.example.com/one"] },
    });
  });

  // The proxy sees to it that each write has its key and the version that it is about; the first one makes the policy.
  test("two administrators who edit one policy lose no field", async () => {
    const { signIn, owner, nodes, proxy } = stage();
    const [page, other] = [await signIn(owner), await signIn(await secondOwner())];
    const writes = proxy.callsOf("PolicyService/SetPasswordPolicy").length;
    for (const [mine, theirs] of [
      ["11", "3"],
      ["13", "5"],
    ] as const) {
      for (const one of [page, other]) {
        // A page that is open shows what it read.
        await follow(one, "/roles");
        await follow(one, `/organizations/${nodes.one.organizationId}/policies`);
        await edit(one, "Minimum length");
      }
      await write(page, "Minimum length", mine);
      await send(page);
      await hasNot(page, "main form");
      await write(other, "Previous passwords that may not be reused", theirs);
      await send(other);
      await has(other, ".conflict");
      await press(other, ".conflict .button.main");
      await hasNot(other, ".conflict");
      const { body } = await nodes.one.admin.get("/v1/policies/password");
      expect(body.policy).toMatchObject({ minimumLength: Number(mine), historyDepth: Number(theirs) });
    }
    expect(proxy.callsOf("PolicyService/SetPasswordPolicy").length - writes).toBe(6);
    await nodes.one.admin.call("DELETE", "/v1/policies/password");
  });

  test("whoever changes a role that somebody has changed sees both names, and no more where another role changed", async () => {
    const { signIn, owner, nodes } = stage();
    const { projectId } = (await nodes.one.admin.post("/v1/projects", { name: "Two at once" })).body;
    await nodes.one.admin.post(`/v1/projects/${projectId}/roles`, { key: "clerk", displayName: "Clerk" });
    const page = await signIn(owner);
    await follow(page, `/projects/${projectId}`);
    await press(page, "main table .menu > button");
    await choose(page, "Edit");
    await nodes.one.admin.call("PATCH", `/v1/projects/${projectId}/roles/clerk`, { displayName: "Scribe" });
    await write(page, "Display name", "Writer");
    await send(page);
    await has(page, "dialog .conflict");
    await shows(page, "Scribe");
    await press(page, "dialog .conflict .button.main");
    await hasNot(page, "dialog[open]");
    await shows(page, "Writer");

    await press(page, "main table .menu > button");
    await choose(page, "Edit");
    await nodes.one.admin.post(`/v1/projects/${projectId}/roles`, { key: "auditor", displayName: "Auditor" });
    await write(page, "Display name", "Author");
    await send(page);
    await hasNot(page, "dialog[open]");
    await shows(page, "Author");
    await shows(page, "Auditor");
  });

  test("whoever changes how an application authenticates, which somebody has changed, sees both ways", async () => {
    const { signIn, owner, nodes } = stage();
    const { projectId } = (await nodes.one.admin.post("/v1/projects", { name: "Two ways" })).body;
    const redirectUris = ["https://two.example.com/callback"];
    const made = await nodes.one.admin.post(`/v1/projects/${projectId}/applications/oidc`, {
      name: "Two",
      redirectUris,
    });
    const path = `/projects/${projectId}/applications/${made.body.appId}`;
    const methodNow = async () =>
      (await nodes.one.admin.get(`/v1${path}`)).body.application.oidc.authMethodType ?? "OIDC_AUTH_METHOD_TYPE_BASIC";
    const page = await signIn(owner, path);
    await press(page, "#change-authentication");
    await has(page, "dialog[open]");
    const theirs = { authMethodType: "OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT" };
    await nodes.one.admin.call("PATCH", `/v1${path}/oidc`, theirs);
    await page.run(`(() => {
      const select = document.querySelector("dialog select");
      select.value = "OIDC_AUTH_METHOD_TYPE_POST";
      select.dispatchEvent(new Event("change", { bubbles: true }));
    })`);
    await send(page);
    await has(page, "dialog .conflict");
    expect(await methodNow()).toBe("OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT");
    await press(page, "dialog .conflict .button.main");
    // The method brings a secret, because there was none any more.
    await has(page, "dialog .once code");
    expect(await methodNow()).toBe("OIDC_AUTH_METHOD_TYPE_POST");
  });

  test("whoever changes the roles of a user that somebody has changed sees both", async () => {
    const { signIn, owner, nodes } = stage();
    const { userId } = await signedUp(nodes.one);
    const { projectId } = (await nodes.one.admin.post("/v1/projects", { name: "Two grants" })).body;
    for (const key of ["reader", "printer", "binder"])
      await nodes.one.admin.post(`/v1/projects/${projectId}/roles`, { key, displayName: key });
    const given = await nodes.one.admin.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: ["reader"] });
    const path = `/v1/user-grants/${given.body.userGrantId}`;
    const page = await signIn(owner, `/users/${userId}/access`);
    await press(page, "main table .menu > button");
    await choose(page, "Edit");
    // Until the list has come, there are the roles that the user has.
    await shows(page, "printer");
    await nodes.one.admin.call("PUT", path, { roleKeys: ["reader", "binder"] });
    await page.run(`(() => {
      const all = [...document.querySelectorAll("dialog .checks label")];
      all.find((one) => one.textContent.includes("printer")).click();
    })`);
    await send(page);
    await has(page, "dialog .conflict");
    const shown = String(await page.run("(() => document.querySelector('dialog .conflict').innerText)"));
    for (const role of ["reader", "printer", "binder"]) expect(shown).toContain(role);
    await press(page, "dialog .conflict .button.main");
    await hasNot(page, "dialog[open]");
    const { body } = await nodes.one.admin.get(path);
    expect([...body.userGrant.roleKeys].sort()).toEqual(["printer", "reader"]);
  });

  test("a write whose answer was lost is sent again, and happens once", async () => {
    const { signIn, owner, proxy, nodes } = stage();
    const page = await signIn(owner, "/projects");
    let lost = 0;
    proxy.between = ({ path }) => {
      if (!path.endsWith("/CreateProject") || lost > 1) return undefined;
      lost += 1;
      return lost === 1 ? "lose the answer" : "lose the request";
    };
    await createProject(page, "Only once");
    await shows(page, "Only once");
    const keys = proxy.callsOf("ProjectService/CreateProject").map(({ headers }) => headers["idempotency-key"]);
    expect(keys.length).toBeGreaterThan(1);
    expect(new Set(keys.slice(-2)).size).toBe(1);
    const found = await nodes.one.admin.get("/v1/projects?filter.search=Only%20once");
    expect(found.body.projects).toHaveLength(1);
  });

  test("a node that restarts is waited for, and what was asked meanwhile goes on by itself", async () => {
    const { signIn, owner, proxy } = stage();
    const page = await signIn(owner, "/projects");
    let isAway = true;
    proxy.between = () => (isAway ? { status: 502 } : undefined);
    await press(page, "a[href='/console/users']");
    await shows(page, "Connection lost. Trying again");
    isAway = false;
    await has(page, "#create-user");
    await has(page, "main table");
    await hasNot(page, ".banner");
  });

  test("too many requests, a server without time and a lost network each have their sentence", async () => {
    const { signIn, owner, proxy } = stage();
    const page = await signIn(owner);
    const quiet = { times: 0 };
    proxy.between = ({ path }) => {
      quiet.times += Number(path.endsWith("/ListProjects"));
      return path.endsWith("/ListProjects") ? { status: 429, headers: { "retry-after": "5" } } : undefined;
    };
    await press(page, "a[href='/console/projects']");
    await shows(page, "Too many requests in a short time.");
    // Nothing is repeated by itself: the button waits for its time, and then asks.
    expect(quiet.times).toBe(1);
    expect(await textOf(page)).toContain("You can try again in");
    await has(page, ".trouble button:not([disabled])");
    proxy.between = () => undefined;
    await press(page, ".trouble button");
    await has(page, "main table");

    // The page gives up after some seconds, which are none here.
    await page.run(
      "(() => { const set = setTimeout; globalThis.setTimeout = (act, ms) => set(act, Math.min(ms, 20)); })",
    );
    for (const [answer, sentence] of [
      [{ status: 503 }, "The server is starting or overloaded."],
      ["lose the request", "The server cannot be reached. Check your connection."],
    ] as const) {
      proxy.between = ({ path }) => (path.endsWith("/ListUsers") ? answer : undefined);
      await press(page, "a[href='/console/users']");
      await shows(page, sentence);
      proxy.between = () => undefined;
      await press(page, ".trouble button");
      await has(page, "main table");
      await press(page, "a[href='/console/projects']");
      await has(page, "#create-project");
    }
  });

  test("a network that is lost while a token is renewed ends no session, and loses no form", async () => {
    const { signIn, owner, proxy, nodes } = stage();
    const page = await signIn(owner, "/projects");
    let answers = 0;
    proxy.between = ({ path }) => {
      if (path.endsWith("/CreateProject") && answers === 0) {
        answers += 1;
        return { status: 401, headers: { "content-type": "application/json" }, body: '{"code":16}' };
      }
      if (path === "/oauth/authorize" && answers < 3) {
        answers += 1;
        return answers === 2 ? "lose the request" : { status: 503 };
      }
      return undefined;
    };
    await createProject(page, "Kept");
    await shows(page, "Kept");
    expect(answers).toBe(3);
    expect(await textOf(page)).not.toContain("Your session has ended");
    expect((await nodes.one.admin.get("/v1/projects?filter.search=Kept")).body.projects).toHaveLength(1);
  });

  test("a console that opens while nobody answers says so, and opens at the second try", async () => {
    const { signIn, owner, proxy, chromium } = stage();
    const windows = await chromium.apart();
    await signIn(owner, "/", windows);
    proxy.between = ({ path }) => (path === "/oauth/authorize" ? { status: 503 } : undefined);
    const page = await windows.open(`${proxy.url}/console/`);
    await shows(page, "The server is starting or overloaded.");
    proxy.between = () => undefined;
    await press(page, ".trouble button");
    await has(page, ".frame");
    await page.close();
  });

  test("a console whose language cannot be had says so, and goes on to sign in when it can", async () => {
    const { proxy, chromium } = stage();
    const windows = await chromium.apart();
    proxy.between = ({ path }) => (path.includes("/assets/words-of-") ? { status: 404 } : undefined);
    const page = await windows.open(`${proxy.url}/console/`);
    await shows(page, "The console could not be loaded.");
    proxy.between = () => undefined;
    await press(page, "main button");
    await shows(page, pageText("password", "en"));
    await page.close();
  });

  test("a page that was open over an upgrade offers to load anew, after a renewal and where a file is gone", async () => {
    const { signIn, owner, proxy } = stage();
    const upgraded = { rewrite: (body: string) => body.replace(/data-version="[^"]*"/, 'data-version="9.9.9"') };
    const isPage = (path: string) => path.startsWith("/console/") && !path.includes("/assets/");
    const page = await signIn(owner, "/projects");
    let ended = false;
    proxy.between = ({ path }) => {
      if (isPage(path)) return upgraded;
      if (ended || !path.endsWith("/ListUsers")) return undefined;
      ended = true;
      return { status: 401 };
    };
    await press(page, "a[href='/console/users']");
    await shows(page, "Postern was upgraded while this page was open.");

    const other = await signIn(owner, "/projects");
    proxy.between = ({ path }) => (path.startsWith("/console/assets/") ? { status: 404 } : undefined);
    await press(other, "a[href='/console/why']");
    await shows(other, "Postern was upgraded while this page was open.");
    proxy.between = () => undefined;
    await press(other, ".banner button");
    await vi.waitFor(async () => expect(await textOf(other)).not.toContain("was upgraded"), 60_000);
    await has(other, "main h1");
  });

  async function secondOwner() {
    const { nodes } = stage();
    const person = await signedUp(nodes.one);
    await nodes.one.admin.post("/v1/members", { userId: person.userId, roles: ["INSTANCE_OWNER"], instance: true });
    return person;
  }
}

async function createProject(page: Page, name: string): Promise<void> {
  await press(page, "#create-project");
  await has(page, "dialog[open]");
  await write(page, "Name", name);
  await send(page);
}

/** Opens the card that has this field. */
async function edit(page: Page, label: string): Promise<void> {
  await page.run(
    `((label) => {
      const card = [...document.querySelectorAll("main .card")].find((one) => one.textContent.includes(label));
      [...card.querySelectorAll("button")].find((one) => one.textContent === "Edit").click();
    })`,
    label,
  );
  await has(page, "main form");
}

const choose = (page: Page, text: string) =>
  page.run(
    `((text) => [...document.querySelectorAll("main button")].find((one) => one.textContent === text).click())`,
    text,
  );
