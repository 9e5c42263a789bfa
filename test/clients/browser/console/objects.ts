import { expect, test, vi } from "vitest";
import { organization, signedUp } from "../../../harness.ts";
import type { Page } from "../chromium.ts";
import { shows } from "../forms.ts";
import { follow, has, hasNot, press, type Stage, send, textOf, write } from "./stage.ts";

/** Clicks the button, option or menu entry with this text, inside of what the selector finds. */
async function choose(page: Page, inside: string, text: string): Promise<void> {
  const click = `((inside, text) => {
    const all = [...document.querySelectorAll(inside + " :is(button, label, summary)")];
    const found = all.find((one) => one.textContent.trim().startsWith(text));
    (found?.control ?? found)?.click();
    return found !== undefined;
  })`;
  await vi.waitFor(async () => expect([text, await page.run(click, inside, text)]).toEqual([text, true]), 60_000);
}

/** The card with this title. */
const card = (title: string): string => `section[aria-labelledby]:has(> .card-head h2[data-title="${title}"])`;

/** Marks each card with its title, so that a selector finds it. */
async function marked(page: Page): Promise<void> {
  await page.run(`(() => {
    for (const title of document.querySelectorAll(".card-head h2")) title.dataset.title = title.textContent;
  })`);
}

const isClosed = (page: Page) => hasNot(page, "dialog[open]");

/** What an organization, an application and a user have on their pages. */
export function objects(stage: () => Stage): void {
  test("a page of what does not exist says so, below a heading", async () => {
    const { signIn, owner, projectId } = stage();
    const page = await signIn(owner);
    for (const path of ["users/no", "projects/no", `projects/${projectId}/applications/no`, "organizations/no"]) {
      await page.run("(() => document.querySelector('main h1').remove())");
      await follow(page, `/${path}`);
      await has(page, "main .trouble");
      await has(page, "main h1");
    }
  });

  test("a policy of the instance becomes the organization's own, a rival's change is kept, and it goes back", async () => {
    const { signIn, owner, nodes } = stage();
    const organizationId = await organization(nodes.one);
    const header = { "x-service-orgid": organizationId };
    const policyOf = async () => (await nodes.one.admin.get("/v1/policies/password", header)).body;
    const page = await signIn(owner, `/organizations/${organizationId}/policies?org=${organizationId}`);
    await shows(page, "Built in");
    await marked(page);
    await choose(page, card("Passwords"), "Edit");
    await write(page, "Minimum length", "12");
    await send(page);
    await has(page, `${card("Passwords")} .facts`);
    expect(await policyOf()).toMatchObject({ isDefault: false, policy: { minimumLength: 12 } });
    await shows(page, "Own");

    await choose(page, card("Passwords"), "Edit");
    await write(page, "Minimum length", "14");
    const rival = { ...(await policyOf()).policy, historyDepth: 5 };
    await nodes.one.admin.put("/v1/policies/password", { policy: rival }, header);
    await send(page);
    await press(page, ".conflict .button.main");
    await has(page, `${card("Passwords")} .facts`);
    expect((await policyOf()).policy).toMatchObject({ minimumLength: 14, historyDepth: 5 });

    await choose(page, card("Passwords"), "Use the instance");
    await has(page, "dialog[open]");
    await send(page);
    await isClosed(page);
    expect(await policyOf()).toMatchObject({ isDefault: true });
  });

  test("a policy that asks for a factor is a step from the explanation of a sign-in", async () => {
    const { signIn, owner, nodes } = stage();
    const organizationId = await organization(nodes.one);
    const header = { "x-service-orgid": organizationId };
    const { userId } = await signedUp(nodes.one, { organizationId });
    const { projectId } = (await nodes.one.admin.post("/v1/projects", { name: "Guarded" }, header)).body;
    const guarded = { name: "Guarded", redirectUris: ["https://guarded.example.com/callback"] };
    const created = await nodes.one.admin.post(`/v1/projects/${projectId}/applications/oidc`, guarded, header);
    const policy = { requirement: "FACTOR_REQUIREMENT_REQUIRED" };
    await nodes.one.admin.put("/v1/policies/factor", { policy }, header);
    const { appId } = created.body;
    const page = await signIn(owner, `/why?user=${userId}&project=${projectId}&app=${appId}&org=${organizationId}`);
    await press(page, `.steps a[href^="/console/organizations/${organizationId}/policies"]`);
    await shows(page, "Second factor");
    await shows(page, "Everyone");
  });

  test("a branding is seen as the pages show it while it is written, and an accent that is hard to read is said", async () => {
    const { signIn, owner, nodes } = stage();
    const organizationId = await organization(nodes.one);
    const page = await signIn(owner, `/organizations/${organizationId}/branding?org=${organizationId}`);
    const preview = `(() => [...document.querySelectorAll(".pane")].map(({ shadowRoot }) => {
      const button = shadowRoot?.querySelector("main button");
      return [shadowRoot?.querySelector("header b")?.textContent, button && getComputedStyle(button).backgroundColor];
    }))`;
    await has(page, ".pane");
    await choose(page, "main", "Edit");
    await write(page, "Name of the product", "Skyline");
    await write(page, "Accent", "#ffff00");
    await has(page, ".help.warn");
    // Darker on white, as the server will make it; as it is on black.
    await vi.waitFor(
      async () =>
        expect(await page.run(preview)).toEqual([
          ["Skyline", "rgb(122, 122, 0)"],
          ["Skyline", "rgb(255, 255, 0)"],
        ]),
      60_000,
    );
    await send(page);
    await hasNot(page, "main form");
    const { body } = await nodes.one.admin.get("/v1/branding", { "x-service-orgid": organizationId });
    expect(body).toMatchObject({
      branding: { productName: "Skyline", accentColor: "#ffff00" },
      light: { accentColor: "#7a7a00" },
      dark: { accentColor: "#ffff00" },
    });
  });

  test("a domain says which record proves it, and what was found", async () => {
    const { signIn, owner, nodes } = stage();
    const organizationId = await organization(nodes.one);
    const header = { "x-service-orgid": organizationId };
    const page = await signIn(owner, `/organizations/${organizationId}/domains?org=${organizationId}`);
    await press(page, "#add-domain");
    await has(page, "dialog[open]");
    await write(page, "Domain", "console-scene.invalid");
    await send(page);
    await isClosed(page);
    await shows(page, "Waiting for the record");
    const [domain] = (await nodes.one.admin.get("/v1/domains", header)).body.domains;
    const text = await textOf(page);
    expect(text).toContain(domain.record.name);
    expect(text).toContain(domain.record.value);
    await choose(page, "main", "Check now");
    await has(page, ".rows .trouble");
  });

  test("two administrators who write different entries of metadata lose none, and one entry is not overwritten", async () => {
    const { signIn, owner, nodes } = stage();
    const { userId } = await signedUp(nodes.one);
    const set = (key: string, value: string) =>
      nodes.one.admin.call("PATCH", `/v1/users/${userId}/metadata`, { entries: [{ key, value }] });
    await set("floor", "1");
    const page = await signIn(owner, `/users/${userId}`);
    await press(page, "#add-entry");
    await has(page, "dialog[open]");
    await set("building", "A");
    await write(page, "Key", "department");
    await write(page, "Value", "Engines");
    await send(page);
    await isClosed(page);
    await shows(page, "Engines");
    const entriesOf = async () => (await nodes.one.admin.get(`/v1/users/${userId}/metadata`)).body.entries;
    expect((await entriesOf()).map(({ key }: { key: string }) => key)).toEqual(["building", "department", "floor"]);

    // The last row is the floor, which somebody else changes meanwhile.
    await choose(page, ".metadata tr:last-child .menu", "Edit");
    await has(page, "dialog[open]");
    await set("floor", "2");
    await write(page, "Value", "3");
    await send(page);
    await has(page, "dialog .conflict");
    expect((await entriesOf()).at(-1)).toMatchObject({ key: "floor", value: "2" });
  });

  test("a key is made in the browser: its private part is shown once and never sent; a claim is declared", async () => {
    const { signIn, owner, nodes, proxy, projectId } = stage();
    const { body: made } = await nodes.one.admin.post(`/v1/projects/${projectId}/applications/oidc`, {
      name: "Signs",
      redirectUris: ["https://signs.example.com/callback"],
      authMethodType: "OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT",
    });
    const path = `/projects/${projectId}/applications/${made.appId}`;
    const page = await signIn(owner, path);
    await shows(page, "requires a key");
    await press(page, "#add-key");
    await has(page, "dialog[open]");
    await send(page);
    await has(page, "dialog .once code");
    const secret = JSON.parse(String(await page.run("(() => document.querySelector('.once code').textContent)")));
    expect(secret).toMatchObject({ kty: "EC", crv: "P-256", d: expect.any(String) });
    await press(page, "dialog .once ~ button");
    await isClosed(page);
    await shows(page, secret.kid);
    expect(await page.run("(() => document.documentElement.outerHTML)")).not.toContain(secret.d);
    expect(proxy.seen.filter(({ body, answer }) => `${body}${answer}`.includes(secret.d))).toEqual([]);
    expect(await textOf(page)).not.toContain("requires a key");

    await press(page, "#add-claim");
    await has(page, "dialog[open]");
    await write(page, "Claim", "department");
    await write(page, "Key of the entry", "department");
    await send(page);
    await isClosed(page);
    const { body } = await nodes.one.admin.get(path.replace("/projects", "/v1/projects"));
    expect(body.application.oidc.declaredClaims).toEqual([
      { name: "department", userMetadata: "department", places: ["CLAIM_PLACE_ID_TOKEN"] },
    ]);
  });

  test("what the configuration would lack is said while one edits it", async () => {
    const { signIn, owner, projectId, appId } = stage();
    const page = await signIn(owner, `/projects/${projectId}/applications/${appId}`);
    await marked(page);
    await choose(page, card("Configuration"), "Edit");
    await write(page, "Redirect URIs", "https://*.example.com/callback");
    await has(page, ".live-compliance .compliance.off");
    await write(page, "Redirect URIs", "https://other.example.com/callback");
    await has(page, ".live-compliance .compliance.good");
  });

  test("the page of an application says until when the secret before the current one works", async () => {
    const { signIn, owner, nodes, projectId } = stage();
    const redirectUris = ["https://rotates.example.com/callback"];
    const rotates = { name: "Rotates", redirectUris };
    const { body } = await nodes.one.admin.post(`/v1/projects/${projectId}/applications/oidc`, rotates);
    const path = `/projects/${projectId}/applications/${body.appId}`;
    await nodes.one.admin.post(`/v1${path}:rotateClientSecret`, { overlap: "3600s" });
    const page = await signIn(owner, path);
    await shows(page, "The old secret works until");
  });

  test("roles that another organization gave are ended, its bar is shown, and lifted again", async () => {
    const { signIn, owner, nodes } = stage();
    const { userId } = await signedUp(nodes.one);
    const other = await organization(nodes.one);
    const header = { "x-service-orgid": other };
    const { body } = await nodes.one.admin.post("/v1/projects", { name: "Partner portal" }, header);
    await nodes.one.admin.post(`/v1/projects/${body.projectId}/roles`, { key: "buyer", displayName: "Buyer" }, header);
    const grant = () =>
      nodes.one.admin.post(`/v1/users/${userId}/grants`, { projectId: body.projectId, roleKeys: ["buyer"] }, header);
    expect((await grant()).status).toBe(200);
    const page = await signIn(owner, `/users/${userId}/access`);
    await shows(page, "buyer");
    await choose(page, "td.acts", "End");
    await has(page, "dialog[open]");
    await send(page);
    await isClosed(page);
    await shows(page, "Barred organizations");
    expect((await grant()).body.details[0]).toMatchObject({ reason: "ENDED_BY_RECEIVER" });
    await choose(page, "td.acts", "Allow again");
    await has(page, "dialog[open]");
    await send(page);
    await isClosed(page);
    await vi.waitFor(async () => expect(await textOf(page)).not.toContain("Barred organizations"), 60_000);
    expect((await grant()).status).toBe(200);
  });

  test("an invitation is sent, sent again, and withdrawn", async () => {
    const { signIn, owner, nodes } = stage();
    const organizationId = await organization(nodes.one);
    const header = { "x-service-orgid": organizationId };
    const page = await signIn(owner, `/organizations/${organizationId}/invitations?org=${organizationId}`);
    await press(page, "#invite");
    await has(page, "dialog[open]");
    await write(page, "Email addresses", "grace@example.com\nada@example.com");
    await send(page);
    await isClosed(page);
    await shows(page, "grace@example.com");
    for (const act of ["Resend", "Withdraw"]) {
      await choose(page, ".menu", act);
      await has(page, "dialog[open]");
      await send(page);
      await isClosed(page);
    }
    const left = async () => (await nodes.one.admin.get("/v1/invitations", header)).body.invitations;
    await vi.waitFor(async () => expect(await left()).toHaveLength(1), 60_000);
  });

  test("an event is a sentence in the reader's language, and says its type", async () => {
    const { signIn, owner, nodes } = stage();
    const { userId } = await signedUp(nodes.one);
    const page = await signIn(owner, `/users/${userId}`);
    await press(page, "#change-phone");
    await has(page, "dialog[open]");
    await write(page, "Phone", "+442079460958");
    await send(page);
    await isClosed(page);
    await follow(page, `/users/${userId}/history`);
    const first = "(() => document.querySelector('.event p')?.textContent)";
    const says = (text: RegExp) => vi.waitFor(async () => expect(await page.run(first)).toMatch(text), 60_000);
    await says(/ changed the phone of /);
    expect(await page.run("(() => document.querySelector('.event-type').textContent)")).toBe("user.phone_changed");
    await page.run(`(() => {
      const select = document.querySelector(".language select");
      select.value = "de";
      select.dispatchEvent(new Event("change", { bubbles: true }));
    })`);
    await says(/ hat die Telefonnummer von .+ geändert$/);
  });
}
