import { randomUUID } from "node:crypto";
import { expect, test, vi } from "vitest";
import { permissionsOf, type Role, roles } from "../../../../src/guards/permissions.ts";
import { organization, signedUp } from "../../../harness.ts";
import type { Page } from "../chromium.ts";
import { entriesOf, pagePaths, type Shown, tabsOf } from "./page_paths.ts";
import { accessOf, isWrite, methodOf, type Seen } from "./proxy.ts";
import { follow, type Stage } from "./stage.ts";

/** A name that stands on everything that no role of the first organization may see. */
const foreign = "Elsewhere";

/** Opens each dialog of the page, fills what is empty, sends it, and closes it again; answers how many there were. */
const openAndSend = `(async () => {
  const pause = () => new Promise((done) => setTimeout(done, 30));
  const buttons = [...document.querySelectorAll("main .button:not(.more *), main .menu button")]
    .filter((one) => one.localName === "button" && !one.closest("form, dialog, .filters") && !one.hasAttribute("aria-expanded"));
  const seen = new Set();
  for (const button of buttons) {
    if (!button.isConnected || seen.has(button.textContent)) continue;
    seen.add(button.textContent);
    button.click();
    await pause();
    const form = document.querySelector("dialog[open] form, main form");
    for (const field of form?.querySelectorAll("input:not([role=combobox]), textarea") ?? []) {
      if (field.value || ["checkbox", "radio", "date", "file", "color"].includes(field.type)) continue;
      field.value = { email: "a@example.com", tel: "+442079460958", number: "1" }[field.type] ?? "Filled-in-42";
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    form?.requestSubmit();
    if (form) await pause();
    document.querySelector("dialog[open] .form-acts button:not([type=submit]), main form .form-acts button:not([type=submit])")?.click();
    await pause();
  }
  return seen.size;
})`;

/** What each role may see and do. */
export function rolesOfTheConsole(stage: () => Stage): void {
  test("of each role, on each page: what may not be done is not offered, a forged call is refused, nothing foreign is told", async () => {
    const { nodes, proxy } = stage();
    const world = await made(stage());
    const forged = new Map<string, Seen>();
    const [owner, ...others] = Object.keys(roles) as Role[];
    for (const role of [owner, ...others] as Role[]) {
      const { page, token } = await signedInAs(role);
      const before = proxy.seen.length;
      const written = new Map<string, Seen>();
      // No write arrives: each is answered as if its fields were wrong.
      proxy.between = ({ path, body }) => {
        const method = /^\/postern\.v1\.(\w+\/\w+)$/.exec(path)?.[1];
        if (!method || !isWrite(methodOf(method))) return undefined;
        const sent = { method, token, headers: {}, body, status: 400, answer: "" };
        written.set(method, sent);
        return {
          status: 400,
          headers: { "content-type": "application/json" },
          body: '{"code":3,"message":"not sent"}',
        };
      };
      await seeAll(page, role, world);
      const seen = proxy.seen.slice(before);
      const may = permissionsOf([role]);
      for (const method of written.keys()) if (!isPermitted(method, may)) unfit.push(`${role} is offered ${method}`);
      if (role === "INSTANCE_OWNER") for (const [method, one] of written) forged.set(method, one);
      if (!role.startsWith("INSTANCE_")) {
        const told = seen.filter(
          ({ answer }) => answer.includes(foreign) || world.foreignIds.some((id) => answer.includes(id)),
        );
        for (const { method } of told) unfit.push(`${role} is told of others by ${method}`);
      }
      proxy.between = () => undefined;
      const wrong = [...forged].filter(([method]) => !isPermitted(method, may));
      const answers = await Promise.all(wrong.map(([method, one]) => forge(method, one)));
      const refused = answers.filter(({ status }) => status === 403 || status === 404);
      // A form may lack what only a person can choose: such a call is refused for that.
      expect([role, answers.filter(({ status }) => ![400, 403, 404].includes(status))]).toEqual([role, []]);
      expect(refused.length, `${role}: ${JSON.stringify(answers)}`).toBeGreaterThanOrEqual(wrong.length / 2);
      await page.raw("Page.navigate", { url: `${proxy.url}/console/roles` });

      async function forge(method: string, { body }: Seen) {
        const headers = {
          ...{ authorization: `Bearer ${token}`, "content-type": "application/json", "idempotency-key": randomUUID() },
          "x-service-orgid": world.organizationId,
        };
        const { status } = await fetch(`${nodes.one.url}/postern.v1.${method}`, { method: "POST", headers, body });
        return { method, status };
      }
    }
    expect(unfit).toEqual([]);
    // Otherwise hardly anything was offered to anybody.
    expect(forged.size).toBeGreaterThan(15);
  });

  /** What should not have been offered, or told. */
  const unfit: string[] = [];

  async function signedInAs(role: Role) {
    const { signIn, proxy } = stage();
    const person = await holderOf(stage(), role);
    const page = await signIn(person);
    const token = proxy.seen.at(-1)?.token ?? expect.unreachable();
    return { page, token };
  }

  /** Goes to every page, offered or not, and opens every dialog. What is offered asks for nothing that it may not have. */
  async function seeAll(page: Page, role: Role, world: World): Promise<void> {
    const { proxy } = stage();
    const offered = new Set(await entriesOf(page));
    const shown = role.startsWith("PROJECT_GRANT_")
      ? { ...world.shown, projectId: world.grantedProjectId }
      : world.shown;
    const paths = [...pagePaths(shown)];
    for (let path = paths.shift(); path; path = paths.shift()) {
      // A dialog of the last page may still be asking.
      await vi.waitFor(() => expect(page.pending()).toBe(0), 60_000);
      const before = proxy.seen.length;
      await follow(page, path);
      if (offered.has(path)) {
        const refused = proxy.seen.slice(before).filter(({ status }) => status === 403);
        for (const { method } of refused) unfit.push(`${role} at ${path}: ${method}`);
      }
      for (const tab of await tabsOf(page)) if (!offered.has(tab)) offered.add(tab) && tab !== path && paths.push(tab);
      await page.run(openAndSend);
    }
  }
}

/** Whether a role with these permissions may make a call of some scope, as the contract says it. */
function isPermitted(method: string, may: ReadonlySet<string>): boolean {
  const { who, instead, instancePermission } = accessOf(methodOf(method));
  if (who.case !== "permission") return true;
  return [who.value, instancePermission, ...instead.map(({ permission }) => permission)].some((one) => may.has(one));
}

type World = {
  readonly organizationId: string;
  readonly shown: Shown;
  readonly grantedProjectId: string;
  readonly foreignIds: readonly string[];
};

let made_: Promise<World> | undefined;

/** Objects of the first organization, and of another one that granted it a project. */
function made(stage: Stage): Promise<World> {
  made_ ??= make(stage);
  return made_;
}

async function make({ nodes, projectId, appId, owner }: Stage): Promise<World> {
  const { admin, organizationId } = nodes.one;
  const elsewhere = await organization(nodes.one);
  await admin.call("PATCH", `/v1/organizations/${elsewhere}`, { name: `${foreign} Ltd` });
  const there = { "x-service-orgid": elsewhere };
  const hidden = (await admin.post("/v1/projects", { name: `${foreign} Secret` }, there)).body.projectId;
  const stranger = (
    await admin.post(
      "/v1/users/machine",
      { username: `${foreign.toLowerCase()}-robot`, name: `${foreign} Robot` },
      there,
    )
  ).body.userId;
  const grantedProjectId = (await admin.post("/v1/projects", { name: "Granted" }, there)).body.projectId;
  await admin.post(`/v1/projects/${grantedProjectId}/roles`, { key: "guest", displayName: "Guest" }, there);
  const granted = { grantedOrganizationId: organizationId, roleKeys: ["guest"] };
  const grant = await admin.post(`/v1/projects/${grantedProjectId}/grants`, granted, there);
  expect([grant.status, hidden, stranger]).toEqual([200, expect.any(String), expect.any(String)]);
  grants.set(grantedProjectId, grant.body.projectGrantId);
  const shown = { userId: owner.userId, projectId, appId, organizationId };
  return { organizationId, shown, grantedProjectId, foreignIds: [hidden, stranger] };
}

const grants = new Map<string, string>();

/** A person of the first organization who holds a role, and nothing else. */
async function holderOf(stage: Stage, role: Role) {
  const { nodes, projectId } = stage;
  const { grantedProjectId } = await made(stage);
  const person = await signedUp(nodes.one);
  const scopes = {
    INSTANCE: { instance: true },
    ORG: { organizationId: nodes.one.organizationId },
    PROJECT: { projectId },
    GRANT: { projectId: grantedProjectId, projectGrantId: grants.get(grantedProjectId) },
  };
  const kind = role.startsWith("PROJECT_GRANT_") ? "GRANT" : (role.split("_")[0] as keyof typeof scopes);
  const added = await nodes.one.admin.post("/v1/members", { userId: person.userId, roles: [role], ...scopes[kind] });
  expect([role, added.status, added.body]).toEqual([role, 200, expect.anything()]);
  return person;
}
