import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { createLocalJWKSet, decodeProtectedHeader, type JWK, jwtVerify } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { rotateSigningKeys } from "../../../src/maintenance/rotate_signing_keys.ts";
import { compiled } from "../../compiled.ts";
import { signedUp } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
import { program } from "../../program.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import { type Application, application, codeFor, exchange, type Person } from "../application.ts";

let nodes: TwoNodes;
let app: Application;
let person: Person;
beforeAll(async () => {
  nodes = await startTwoNodes({ publicUrl: "https://id.example" });
  app = await application(nodes.one.admin);
  person = await signedUp(nodes.one);
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

/** The ID token of a sign-in, whose code one node gives and the other takes. */
async function idToken(nth: number): Promise<string> {
  const { code } = await codeFor(nodes.through(nth).url, app, person, { scope: "openid" });
  return (await exchange(nodes.through(nth + 1).url, app, code)).body.id_token;
}

async function keysAt({ url }: { url: string }): Promise<JWK[]> {
  return ((await (await fetch(`${url}/oauth/keys`)).json()) as { keys: JWK[] }).keys;
}

const kidsIn = (keys: readonly JWK[]) => keys.map(({ kid }) => kid).sort();

// Without it, sign-ins take what a rotation needs.
const betweenMs = 600;

/** Signs users in over and over; every ID token is verified by the keys that the clients have then. */
function signInsUnderWay(keys: () => readonly JWK[]) {
  let isOver = false;
  const kids = new Set<string | undefined>();
  const clients = Array.from({ length: 4 }, async (_, client) => {
    for (let nth = client; !isOver; nth += 1) {
      const token = await idToken(nth);
      await jwtVerify(token, createLocalJWKSet({ keys: [...keys()] }), { audience: app.clientId });
      kids.add(decodeProtectedHeader(token).kid);
      await pause(betweenMs);
    }
  });
  const all = Promise.all(clients);
  // A failure is told by `ended`, and not as one that nobody handles.
  all.catch(() => {});
  return {
    kids,
    async ended() {
      isOver = true;
      await all;
    },
  };
}

/** Runs the command, and kills it after so many milliseconds, wherever it is then. */
async function killedRotation(milliseconds: number, ...args: readonly string[]): Promise<void> {
  const { databaseUrl = "", masterKeys } = nodes.one.config;
  const env = {
    ...process.env,
    ...compiled,
    DATABASE_URL: databaseUrl,
    POSTERN_MASTER_KEY: Buffer.from(masterKeys?.[0] ?? []).toString("base64"),
  };
  const command: ChildProcess = spawn(process.execPath, [program, "rotate-signing-keys", ...args], {
    env,
    stdio: "ignore",
  });
  const end = once(command, "exit");
  await Promise.race([pause(milliseconds), end]);
  command.kill("SIGKILL");
  await end;
}

const moments = () => Array.from({ length: 4 }, () => Math.random() * 2_000);

/** Lets the time go by that a key is published before it signs. */
const twoDaysLater = () =>
  ask(nodes.databaseUrl, "update signing_keys set signs_from = signs_from - interval '2 days'");

test("a client that caches keys verifies every token while keys are replaced, and commands for it are killed", async () => {
  await idToken(0);
  let cached = await keysAt(nodes.one);
  const load = signInsUnderWay(() => cached);
  for (let round = 0; round < 2; round += 1) {
    for (const moment of moments()) await killedRotation(moment);
    await rotateSigningKeys(nodes.one.config, false);
    for (const node of [nodes.one, nodes.two]) await expect.poll(() => keysAt(node)).toHaveLength((round + 2) * 2);
    // The client fetches keys no later than it has to, and then no more until the next ones are published.
    cached = await keysAt(nodes.through(round));
    const next = cached.filter(({ kid }) => !load.kids.has(kid)).map(({ kid }) => kid);
    await twoDaysLater();
    await expect.poll(() => next.some((kid) => load.kids.has(kid))).toBe(true);
  }
  await load.ended();
  expect(load.kids.size).toBe(3);
});

test("an emergency that is killed in between leaves the keys of before, or those that come after, at all nodes", async () => {
  for (const moment of moments()) {
    await killedRotation(moment, "--emergency");
    const token = await idToken(0);
    const agreed = async () => {
      const [one, two] = [await keysAt(nodes.one), await keysAt(nodes.two)];
      const again = decodeProtectedHeader(await idToken(1)).kid ?? "";
      return kidsIn(one).join() === kidsIn(two).join() && kidsIn(one).includes(again);
    };
    await expect.poll(agreed).toBe(true);
    expect(decodeProtectedHeader(token).alg).toBe("RS256");
  }
  await rotateSigningKeys(nodes.one.config, true);
  for (const node of [nodes.one, nodes.two]) await expect.poll(() => keysAt(node)).toHaveLength(2);
});
