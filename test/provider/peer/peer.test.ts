import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, startPostern } from "../../harness.ts";
import { differences, discoveryDifferences } from "./differences.ts";
import { startLibrary } from "./library.ts";
import type { Outcome } from "./outcome.ts";
import { type Peer, posternPeer } from "./peer.ts";
import { authorizeScenes } from "./scenes_authorize.ts";
import { sessionScenes } from "./scenes_session.ts";
import { tokensScenes } from "./scenes_tokens.ts";

let postern: Postern;
let ours: Peer;
let theirs: Awaited<ReturnType<typeof startLibrary>>;
beforeAll(async () => {
  [postern, theirs] = [await startPostern(), await startLibrary()];
  ours = await posternPeer(postern);
});
afterAll(async () => {
  await theirs?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
});

const scenes = { ...authorizeScenes, ...sessionScenes, ...tokensScenes };

test.each(Object.entries(scenes))("%s has the same outcome at the library, or a listed one", async (name, play) => {
  const [here, there] = await Promise.all([play(ours), play(theirs)]);
  const { reason: _, ...listed } = differences[name] ?? { ours: here, theirs: here };
  expect({ ours: here, theirs: there }).toEqual(listed);
});

test("every listed difference is of a scene, and is one", () => {
  const stray = Object.keys(differences).filter((name) => !Object.hasOwn(scenes, name));
  expect(stray).toEqual([]);
  for (const { ours, theirs } of Object.values(differences)) expect(ours).not.toEqual(theirs);
});

test("the descriptions of both providers differ as listed", async () => {
  const [here, there] = await Promise.all([description(ours), description(theirs)]);
  const names = [...new Set([...Object.keys(here), ...Object.keys(there)])].sort();
  const differing = names.filter((name) => JSON.stringify(here[name]) !== JSON.stringify(there[name]));
  expect(differing).toEqual(Object.keys(discoveryDifferences).sort());
});

/** The description of a provider; the order of a list means nothing. */
async function description({ issuer }: Peer): Promise<Readonly<Record<string, Outcome>>> {
  const answer = await fetch(`${issuer}/.well-known/openid-configuration`);
  const all = (await answer.json()) as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => [
      name,
      Array.isArray(value)
        ? [...value].sort()
        : typeof value === "string"
          ? value.replace(issuer, "")
          : (value as boolean),
    ]),
  );
}
