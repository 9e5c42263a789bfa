import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { textOf } from "./tree.ts";

const { version } = JSON.parse(textOf("package.json"));

test("the version is one, wherever it stands", () => {
  const lock = JSON.parse(textOf("package-lock.json"));
  const chart = textOf("deploy/helm/Chart.yaml");
  const versions = [
    ...[lock.version, lock.packages[""].version, lock.packages["packages/gateway"].version],
    JSON.parse(textOf("packages/gateway/package.json")).version,
    ...[...chart.matchAll(/^(?:appV|v)ersion: (.*)$/gm)].map(([, one]) => one),
  ];
  expect(versions).toEqual(Array(6).fill(version));
});

test("the changelog has the unreleased changes first, and no heading twice in a version", () => {
  const [, ...releases] = textOf("CHANGELOG.md").split(/^## /m);
  expect(releases[0]).toMatch(/^\[Unreleased\]\n/);
  for (const release of releases) {
    const headings = [...release.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading);
    expect(headings, release.split("\n")[0]).toEqual([...new Set(headings)]);
  }
});

test("the notes of a release are its part of the changelog, and a version without one has none", () => {
  const notes = (name = "") => execFileSync("sh", [".ci/notes", name], { encoding: "utf8", stdio: "pipe" });
  const [, ...releases] = textOf("CHANGELOG.md").split(/^## /m);
  for (const release of releases) {
    const [, name, changes = ""] = /^\[(.*?)\][^\n]*\n(.*)$/s.exec(release) ?? [];
    if (changes.trim()) expect(notes(name).trim()).toBe(changes.trim());
    else expect(() => notes(name)).toThrow();
  }
  expect(() => notes("9.9.9")).toThrow();
});

test("the image has the labels of OCI, and the release fills in what only it knows", () => {
  const image = textOf("deploy/Dockerfile");
  const labels = [...image.matchAll(/org\.opencontainers\.image\.(\w+)="([^"]*)"/g)].map(([, name, value]) => [
    name,
    value,
  ]);
  expect(Object.fromEntries(labels)).toEqual({
    title: "Postern",
    description: expect.any(String),
    licenses: JSON.parse(textOf("package.json")).license,
    version: "$VERSION",
    revision: "$REVISION",
    source: "$SOURCE",
  });
  const workflow = textOf(".github/workflows/release.yml");
  for (const [, name] of image.matchAll(/^ARG (\w+)=""$/gm)) expect(workflow).toContain(`--build-arg "${name}=`);
});

test("a workflow runs no action that could change under its name, and has no permission that it does not ask for", () => {
  const workflow = textOf(".github/workflows/release.yml");
  const actions = [...workflow.matchAll(/uses: (\S+)(.*)$/gm)];
  expect(actions.length).toBeGreaterThan(0);
  for (const [, action, comment] of actions) expect(`${action}${comment}`).toMatch(/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  expect(workflow).toContain("\npermissions: {}\n");
});
