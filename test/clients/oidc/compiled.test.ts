import { describe, expect, test } from "vitest";
import { signedUp, startPostern } from "../../harness.ts";
import { type Application, application, codeFor, exchange, issuerOf } from "../../provider/application.ts";
import { type Started, startWebProgram } from "../../provider/web_program.ts";
import { found } from "../toolchains.ts";
import { openWorkshop } from "../workshop.ts";
import { environmentOf, signsIn } from "./relying_party.ts";

const timeout = 600_000;

let built: Promise<Pick<Started, "command" | "cwd">> | undefined;

async function build() {
  const { folder, must } = await openWorkshop("oidc/spring");
  await must("mvn", "--batch-mode", "--quiet", "package");
  // It runs for seconds: the best code for it would come too late.
  const command: Started["command"] = ["java", "-XX:TieredStopAtLevel=1", "-jar", "target/program.jar"];
  return { command, cwd: folder };
}

/** Builds the program unless it is built; downloads for the build sometimes fail at first. */
const program = () => {
  built ??= build().catch(build);
  return built;
};

signsIn("Spring Security", {
  toolchain: "java",
  login: "/oauth2/authorization/postern",
  callback: "/login/oauth2/code/postern",
  machine: 2,
  signOut: { path: "/logout", after: "/bye", backChannel: "/logout/connect/back-channel/postern" },
  build: program,
});

signsIn("go-oidc, with golang.org/x/oauth2", {
  toolchain: "go",
  callback: "/callback",
  machine: 2,
  async build() {
    const { folder, must } = await openWorkshop("oidc/go");
    await must("go", "build", "-buildvcs=false", "-o", "program", ".");
    return { command: ["./program"], cwd: folder };
  },
});

describe.skipIf(!found("java"))("a resource server of Spring Security", () => {
  test("accepts the access tokens of its application in JWT format, and no others", { timeout }, async () => {
    await using postern = await startPostern();
    const person = await signedUp(postern);
    const tokensAt = async (app: Application) => {
      const issuer = issuerOf(postern);
      return (await exchange(issuer, app, (await codeFor(issuer, app, person)).code)).body;
    };
    const jwt = { accessTokenType: "OIDC_TOKEN_TYPE_JWT" };
    const app = await application(postern.admin, jwt);
    const ways = { method: "client_secret_basic", algorithm: "RS256" };
    await using server = await startWebProgram({ ...(await program()), env: environmentOf(postern, app, ways) });
    const ask = (token: string) =>
      fetch(`${server.origin}/api`, { headers: { authorization: `Bearer ${token}` }, redirect: "manual" });

    const own = await tokensAt(app);
    const answer = await ask(own.access_token);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ sub: person.userId, aud: [app.projectId], client_id: app.clientId });
    const foreign = await tokensAt(await application(postern.admin, jwt));
    const refused = await Promise.all([own.id_token, foreign.access_token, "oa_x"].map(ask));
    expect(refused.map(({ status }) => status)).toEqual([401, 401, 401]);
  });
});
