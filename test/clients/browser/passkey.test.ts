import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { type Answer, signedUp, startPostern } from "../../harness.ts";
import { found } from "../toolchains.ts";
import { startChromium } from "./chromium.ts";

// A page makes no more of options and answers than this: the browser reads and writes the JSON of WebAuthn itself.
const create = `(async (options) => {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  return (await navigator.credentials.create({ publicKey })).toJSON();
})`;
const get = `(async (options) => {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return (await navigator.credentials.get({ publicKey })).toJSON();
})`;

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

describe.skipIf(!found("chromium"))("in Chromium, with its virtual authenticator", () => {
  test("a passkey is enrolled, completes a sign-in, and signs in alone", { timeout: 600_000 }, async () => {
    await using opened = new AsyncDisposableStack();
    const pages = createServer((_request, response) => {
      response.setHeader("content-type", "text/html").end("<!doctype html><title>Passkeys</title>");
    }).listen(0, "localhost");
    await once(pages, "listening");
    opened.defer(() => void pages.close());
    const origin = `http://localhost:${(pages.address() as AddressInfo).port}`;
    const postern = opened.use(await startPostern({ publicUrl: origin }));
    const page = await opened.use(await startChromium()).open(origin);
    await page.withAuthenticator();
    const { client, userId, username: loginName, password } = await signedUp(postern);

    const { options } = done(await client.post("/v1/users/me/factors:startPasskey"));
    const credential = await page.run(create, options);
    done(await client.post("/v1/users/me/factors:confirmPasskey", { credential, name: "Chromium" }));

    const { pending } = done(await postern.as().post("/v1/sessions", { loginName, password }));
    const passkey = await page.run(get, pending.passkeyOptions);
    done(await postern.as().post("/v1/sessions:complete", { pendingToken: pending.token, passkey }));

    const started = done(await postern.as().post("/v1/sessions/passkey:start"));
    const answer = { challengeToken: started.challengeToken, credential: await page.run(get, started.options) };
    const session = done(await postern.as().post("/v1/sessions/passkey", answer));
    expect(done(await postern.as(session.token).get("/v1/users/me")).user.id).toBe(userId);
    expect((await postern.as().post("/v1/sessions/passkey", answer)).status).toBe(400);
    expect(page.messages).toEqual([]);
  });
});
