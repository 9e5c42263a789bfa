import { expect, test, vi } from "vitest";
import { pageText } from "../../../../src/messages/page.ts";
import { organization, signedUp } from "../../../harness.ts";
import { shows, submit } from "../forms.ts";
import { follow, has, hasNot, isRead, press, type Stage, send, textOf, write, written } from "./stage.ts";

const unauthenticated = { status: 401, headers: { "content-type": "application/json" }, body: '{"code":16}' };

/** The console and the session of its browser. */
export function sessions(stage: () => Stage): void {
  test("a token that has ended is renewed once, for all calls, and a half-filled form is sent as it was", async () => {
    const { signIn, owner, proxy, nodes } = stage();
    const page = await signIn(owner, "/users");
    await press(page, "#create-user");
    await has(page, "dialog[open]");
    const username = `half-filled-${Date.now()}`;
    await write(page, "Given name", "Half");
    await write(page, "Family name", "Filled");
    await write(page, "Email", `${username}@example.com`);
    await write(page, "Login name", username);
    const old = proxy.seen.at(-1)?.token;
    let renewals = 0;
    endToken();
    await send(page);
    await shows(page, "Half Filled");
    expect(renewals).toBe(1);
    expect((await nodes.one.admin.get(`/v1/users?filter.loginName=${username}`)).body.users).toHaveLength(1);

    // A page that makes several calls at once renews once as well.
    renewals = 0;
    const next = proxy.seen.at(-1)?.token;
    expect(next).not.toBe(old);
    await isRead(page);
    endToken();
    await follow(page, "/");
    await expect.poll(() => renewals).toBe(1);
    await hasNot(page, ".trouble");
    expect(renewals).toBe(1);

    /** Refuses a token. Of calls at once, the first is refused, and the others when the first has been repeated. */
    function endToken(): void {
      const ended = proxy.seen.at(-1)?.token;
      const before = proxy.seen.length;
      let refusals = 0;
      proxy.between = async ({ path }) => {
        if (path === "/oauth/token") renewals += 1;
        if (!path.startsWith("/postern.v1.") || renewals > 0) return undefined;
        // A stream waits until somebody uses the page.
        const isStream = path.endsWith("/WatchEvents");
        if (!isStream) refusals += 1;
        if (!isStream && refusals > 1)
          await vi.waitFor(() => expect(proxy.seen.length).toBeGreaterThan(before), 60_000);
        expect(proxy.seen.slice(before).every(({ token }) => token !== ended)).toBe(true);
        return unauthenticated;
      };
    }
  });

  test("whoever signs out in one tab has signed out in all, and goes on everywhere after signing in again", async () => {
    const { signIn, owner, chromium, proxy } = stage();
    const windows = await chromium.apart();
    const page = await signIn(owner, "/users", windows);
    const other = await windows.open(`${proxy.url}/console/users`);
    await has(other, ".frame");
    await press(other, "#create-user");
    await has(other, "dialog[open]");
    await write(other, "Given name", "Not lost");
    await press(page, ".oneself button");
    await shows(page, pageText("password", "en"));
    await shows(other, "Your session has ended");
    await submit(page, { login_name: owner.username, password: owner.password }, "password");
    await has(page, ".frame");
    await hasNot(other, ".covering");
    expect(await written(other, "Given name")).toBe("Not lost");
    await other.close();
  });

  test("a session that another node ended is said at the next act", async () => {
    const { signIn, owner, nodes } = stage();
    const page = await signIn(owner, "/users");
    const ended = await nodes.two.admin.call("DELETE", `/v1/users/${owner.userId}/sessions`);
    expect(ended.status).toBe(200);
    // This node hears of it from the log.
    await vi.waitFor(async () => {
      await press(page, "a[href='/console/projects']");
      await press(page, "a[href='/console/users']");
      expect(await textOf(page)).toContain("Your session has ended");
    }, 60_000);
  });

  test("of two accounts in one browser, neither tab shows anything of the other", async () => {
    const { signIn, chromium, proxy, nodes } = stage();
    const [first, second] = await Promise.all([administrator("of the first"), administrator("of the second")]);
    const windows = await chromium.apart();
    const page = await signIn(first.person, "/projects", windows);
    await shows(page, "of the first");
    const other = await windows.open(`${proxy.url}/console/events`);
    await has(other, ".live.on");
    await press(page, ".oneself button");
    await shows(page, pageText("password", "en"));
    await submit(page, { login_name: second.person.username, password: second.person.password }, "password");
    await shows(page, "of the second");
    const names = [first, second].map(({ person }) => person.username);
    await vi.waitFor(async () => {
      const text = await textOf(other);
      expect(text).toMatch(/Your session has ended|of the second|Password/);
      // The page is that of one account or of the other, from its frame to its rows.
      expect(names.filter((name) => text.includes(name))).toHaveLength(1);
    }, 60_000);
    const before = (await textOf(other)).includes(second.person.username) ? second : first;
    await nodes.one.admin.post(
      "/v1/projects",
      { name: "While both look" },
      { "x-service-orgid": second.organizationId },
    );
    await follow(page, "/events");
    await shows(page, "While both look");
    if (before === first) expect(await textOf(other)).not.toContain("While both look");
    expect(await textOf(page)).not.toContain("of the first");
    const tokens = new Map(
      proxy.callsOf("AccountService/GetMe").map(({ token, answer }) => [token, JSON.parse(answer).user?.id]),
    );
    const about = proxy.seen.filter(({ headers }) => headers["x-service-orgid"] === first.organizationId);
    expect(about.length).toBeGreaterThan(2);
    expect(about.every(({ token }) => tokens.get(token) === first.person.userId)).toBe(true);
    await other.close();

    async function administrator(name: string) {
      const organizationId = await organization(nodes.one);
      const inOrganization = { "x-service-orgid": organizationId };
      const person = await signedUp(nodes.one, { organizationId });
      const member = { userId: person.userId, roles: ["ORG_OWNER"], organizationId };
      expect((await nodes.one.admin.post("/v1/members", member, inOrganization)).status).toBe(200);
      await nodes.one.admin.post("/v1/projects", { name: `Project ${name}` }, inOrganization);
      return { organizationId, person };
    }
  });
}
