import { afterAll, beforeAll, expect, test } from "vitest";
import { type PageText, pageText } from "../../../src/messages/page.ts";
import { type Postern, sharedPostern } from "../../harness.ts";
import { type Application, application, authorizeUrl, issuerOf } from "../application.ts";
import { openBrowser } from "../browser.ts";

let postern: Postern;
let issuer: string;
let app: Application;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
  app = await application(postern.admin);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const formType = "application/x-www-form-urlencoded";

type Row = readonly [what: string, path: () => string, key: PageText, params: Readonly<Record<string, string>>];

const rows: readonly Row[] = [
  ["a client that is there twice", () => `${asked()}&client_id=x`, "parameter_repeated", { name: "client_id" }],
  [
    "a state of a sign-out that is there twice",
    () => `${signOut}?state=1&state=2`,
    "parameter_repeated",
    { name: "state" },
  ],
  [
    "a long state of a sign-out",
    () => `${signOut}?state=${"s".repeat(2_001)}`,
    "parameter_long",
    { name: "state", count: "2000" },
  ],
  ["many parameters", () => `${asked()}${"&x=1".repeat(60)}`, "parameters_many", { count: "50" }],
  ["a NUL", () => `${asked()}&x=%00`, "parameter_odd", {}],
  ["a long request", () => `${asked()}&x=${"x".repeat(12_000)}`, "parameters_long", { count: "12000" }],
];

test.each(rows)("what is wrong with %s is said in the language of the page", async (_, path, key, params) => {
  for (const language of ["de", "fr", "es", "en"] as const) {
    const { status, text } = await openBrowser(issuer).open(issuer + path(), { "accept-language": language });
    const problem = pageText(key, language, params);
    expect([status, sentenceIn(text)]).toEqual([400, pageText("request_malformed", language, { problem })]);
    expect(text).toContain(`${pageText("error_details", language)}<br>\n<code>request_malformed</code>`);
  }
});

test("a body that is no form is named so in the language of the page", async () => {
  const headers = { "accept-language": "es", "content-type": "text/plain" };
  for (const path of [signOut, "/oauth/authorize"]) {
    const answer = await fetch(issuer + path, { method: "POST", body: "x=1", headers });
    const problem = pageText("body_type", "es", { type: formType });
    expect(sentenceIn(await answer.text())).toBe(pageText("request_malformed", "es", { problem }));
  }
});

const signOut = "/oauth/end-session";
const asked = () => authorizeUrl(issuer, app).slice(issuer.length);

/** The sentence of an error page. */
const sentenceIn = (text: string) => /<p class="bad">([^<]*)</.exec(text)?.[1];
