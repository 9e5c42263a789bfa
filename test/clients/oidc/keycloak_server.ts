import { randomUUID } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { startWebProgram } from "../../provider/web_program.ts";
import { openWorkshop } from "../workshop.ts";

/** A Keycloak of its own, in memory. */
export type Keycloak = AsyncDisposable & {
  readonly origin: string;
  /** Calls its admin REST API; answers the body, if there is one. */
  readonly admin: (method: string, path: string, body?: unknown) => Promise<unknown>;
};

/** Unpacks Keycloak, once for each version, and starts it on a free port. */
export async function startKeycloak(): Promise<Keycloak> {
  // 170 MB sometimes do not come at once.
  const home = await unpacked().catch(unpacked);
  const password = randomUUID();
  await using opened = new AsyncDisposableStack();
  const { origin } = opened.use(
    await startWebProgram({
      command: [
        ...(["bash", join(home, "bin/kc.sh"), "start-dev"] as const),
        ...["--http-host=localhost", "--http-port=0", "--db=dev-mem", "--log-level=info", "--log-console-color=false"],
      ],
      env: { KC_BOOTSTRAP_ADMIN_USERNAME: "admin", KC_BOOTSTRAP_ADMIN_PASSWORD: password },
      line: /started in .*Listening on: (http:\/\/localhost:\d+)/,
    }),
  );
  const form = { grant_type: "password", client_id: "admin-cli", username: "admin", password };
  const tokens = `${origin}/realms/master/protocol/openid-connect/token`;
  const admin: Keycloak["admin"] = async (method, path, body) => {
    const signIn = await fetch(tokens, { method: "POST", body: new URLSearchParams(form) });
    const { access_token } = (await signIn.json()) as { access_token: string };
    const headers = { authorization: `Bearer ${access_token}`, "content-type": "application/json" };
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await fetch(`${origin}/admin/realms${path}`, init);
    const text = await response.text();
    expect([method, path, response.ok, text]).toEqual([method, path, true, text]);
    return text ? JSON.parse(text) : undefined;
  };
  const stack = opened.move();
  return { origin, admin, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** The folder of Keycloak, which Maven brings. */
async function unpacked(): Promise<string> {
  const { folder, kept, must } = await openWorkshop("oidc/keycloak");
  const [pom, installed] = [await readFile(join(folder, "pom.xml"), "utf8"), join(kept, "pom.xml")];
  const version = /<version>(.*)<\/version>\s*<type>zip/.exec(pom)?.[1];
  const home = join(kept, `keycloak-${version}`);
  if ((await readFile(installed, "utf8").catch(() => "")) === pom) return home;
  await rm(kept, { recursive: true, force: true });
  await must("mvn", "--batch-mode", "--quiet", `-Dkeycloak.folder=${kept}`, "package");
  await writeFile(installed, pom);
  return home;
}
