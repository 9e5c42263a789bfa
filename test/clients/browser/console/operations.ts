import { expect, test } from "vitest";
import { signedUp } from "../../../harness.ts";
import type { Page } from "../chromium.ts";
import { shows } from "../forms.ts";
import { type Hands, key, keyboard, mouse, tree } from "./hands.ts";
import { follow, has, hasNot, type Stage } from "./stage.ts";

const ways: readonly (readonly [name: string, hands: (page: Page) => Hands, phone: string])[] = [
  ["by mouse", mouse, "+442079460951"],
  ["by keyboard alone", keyboard, "+442079460952"],
  ["by the tree of a screen reader", tree, "+442079460953"],
];

/** The operations that administrators do most: a phone, a user, a grant, an application. */
export function operations(stage: () => Stage): void {
  test.each(ways)("a phone, a user, a grant and an application are made %s", async (way, handsOf, phone) => {
    const { signIn, owner, projectId, nodes } = stage();
    const { admin } = nodes.one;
    const { userId } = await signedUp(nodes.one);
    const page = await signIn(owner);
    await page.onScreen(1280);
    const hands = handsOf(page);

    await follow(page, `/users/${userId}`);
    await hands.press("button", "Add phone");
    await hands.fill("Phone", phone);
    await hands.press("radio", "It is verified");
    await hands.press("button", "Add phone");
    await hasNot(page, "dialog[open]");
    expect((await admin.get(`/v1/users/${userId}`)).body.user.human).toMatchObject({ phone, phoneVerified: true });

    await follow(page, "/users");
    const username = `made-${phone.slice(-2)}`;
    await hands.press("button", "Create user");
    await hands.fill("Given name", "Made");
    await hands.fill("Family name", way);
    await hands.fill("Email", `${username}@example.com`);
    await hands.fill("Login name", username);
    await hands.press("button", "Create user");
    await shows(page, `Made ${way}`);
    expect((await admin.get(`/v1/users?filter.loginName=${username}`)).body.users).toHaveLength(1);

    await follow(page, `/users/${userId}/access`);
    await hands.press("button", "Add user grant");
    await hands.fill("Project", "Shop");
    await has(page, "dialog [role=option]");
    await key(page, "ArrowDown");
    await key(page, "Enter");
    await hands.press("checkbox", "Viewer");
    await hands.press("button", "Add user grant");
    await has(page, "main table .badge.good");
    expect((await admin.get(`/v1/user-grants?userId=${userId}`)).body.userGrants).toHaveLength(1);

    await follow(page, `/projects/${projectId}/applications/new`);
    const name = `App ${way}`;
    await hands.fill("Name", name);
    await hands.fill("Redirect URIs", `https://${username}.example.com/callback`);
    await hands.press("button", "Create application");
    await has(page, "dialog .once code");
    const found = await admin.get(`/v1/projects/${projectId}/applications`);
    expect(found.body.applications.map((one: { name: string }) => one.name)).toContain(name);
  });
}
