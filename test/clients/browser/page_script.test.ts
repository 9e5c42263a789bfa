import { describe, expect, test, vi } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { signedUp, startPostern } from "../../harness.ts";
import { application, authorizeUrl, issuerOf } from "../../provider/application.ts";
import { found } from "../toolchains.ts";
import { startChromium } from "./chromium.ts";
import { shows, submit } from "./forms.ts";

/** The field of the password and its button, and where the focus is. */
const field = `(() => {
  const [input, button] = [document.querySelector("[name=password]"), document.querySelector(".reveal")];
  return [input.type, button?.textContent, button?.getAttribute("aria-label"), document.activeElement === input];
})`;
const clicked = `(() => { document.querySelector(".reveal").click(); })`;
const times = `(() => [...document.querySelectorAll("time")].map(({ textContent, title }) => [textContent, title]))`;
const go = "((url) => { location.href = url; })";

const shownBy = (type: string, button: "show" | "hide") => {
  const label = pageText(button, "en");
  return [type, label, `${label}: ${pageText("password", "en")}`, true];
};

describe.skipIf(!found("chromium"))("in Chromium", () => {
  test("a password can be shown, and is hidden again when the form goes; without a script there is no button", {
    timeout: 120_000,
  }, async () => {
    await using postern = await startPostern();
    await using chromium = await startChromium();
    const [issuer, ada] = [issuerOf(postern), await signedUp(postern)];
    const url = authorizeUrl(issuer, await application(postern.admin), { login_hint: ada.username });
    const page = await chromium.open(url);
    expect(await page.run(field)).toEqual(shownBy("password", "show"));
    await page.run(clicked);
    expect(await page.run(field)).toEqual(shownBy("text", "hide"));
    await page.run(clicked);
    expect(await page.run(field)).toEqual(shownBy("password", "show"));
    await page.run(clicked);
    // The type that the form goes with.
    const sent = `((secret) => {
      const form = document.forms[0];
      form.addEventListener("submit", (event) => { event.preventDefault(); });
      form.elements.namedItem("password").value = secret;
      document.querySelector('button[value="password"]').click();
      return form.elements.namedItem("password").type;
    })`;
    expect(await page.run(sent, "wrong")).toBe("password");
    expect(page.messages).toEqual([]);
    await page.withoutScript();
    await page.run(go, url);
    await vi.waitFor(async () => expect(await page.run(field)).toEqual(["password", null, null, true]), 60_000);
  });

  test("the rules of a new password are marked as one types", { timeout: 120_000 }, async () => {
    await using postern = await startPostern();
    await using chromium = await startChromium();
    const [issuer, ada] = [issuerOf(postern), await signedUp(postern)];
    const page = await chromium.open(`${issuer}/account/password`);
    await submit(page, { login_name: ada.username, password: ada.password }, "password");
    await shows(page, pageText("password_rules", "en"));
    const typed = `((text) => {
      const input = document.getElementById("new_password");
      input.value = text;
      input.dispatchEvent(new Event("input"));
      return [...document.querySelectorAll("li.met")].map(({ dataset, textContent }) => [dataset.rule, textContent]);
    })`;
    const rules = async (text: string) =>
      ((await page.run(typed, text)) as [string, string][]).map(([rule]) => rule.split(" ")[0]);
    expect(await rules("")).toEqual([]);
    expect(await rules("Äb")).toEqual(["upper", "lower"]);
    expect(await rules("äöüßéèàç")).toEqual(["length", "lower"]);
    expect(await rules("Green-Teapot-43")).toEqual(["length", "upper", "lower", "digit", "symbol"]);
    // Screen readers learn it from the text.
    expect(await page.run(typed, "4")).toEqual([
      ["digit", `${pageText("rule_digit", "en")} (${pageText("rule_met", "en")})`],
    ]);
    expect(page.messages).toEqual([]);
  });

  test("times are those of the browser's clock and language, and of UTC without a script", {
    timeout: 120_000,
  }, async () => {
    await using postern = await startPostern();
    await using chromium = await startChromium();
    const [issuer, ada] = [issuerOf(postern), await signedUp(postern)];
    const page = await chromium.open(`${issuer}/account/sessions?page_language=de`);
    await page.inTimeZone("Asia/Kathmandu");
    await submit(page, { login_name: ada.username, password: ada.password }, "password");
    await shows(page, pageText("this_session", "de"));
    const local = (await page.run(times)) as [string, string][];
    await page.withoutScript();
    await page.run(go, `${issuer}/account/sessions`);
    const utc = [expect.stringMatching(/ UTC$/), ""];
    await vi.waitFor(async () => expect(await page.run(times)).toEqual(local.map(() => utc)), 60_000);
    const plain = (await page.run(times)) as [string, string][];
    expect(local.length).toBeGreaterThan(0);
    const nepal = { dateStyle: "medium", timeStyle: "short", timeZone: "Asia/Kathmandu" } as const;
    const dates = (await page.run(
      `(() => [...document.querySelectorAll("time")].map(({ dateTime }) => dateTime))`,
    )) as string[];
    expect(local).toEqual(
      dates.map((date, nth) => [new Intl.DateTimeFormat("de", nepal).format(new Date(date)), plain[nth]?.[0]]),
    );
    expect(page.messages).toEqual([]);
  });
});
