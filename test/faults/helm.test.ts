import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { settings } from "../../src/config/config.ts";
import { textOf } from "../rules/tree.ts";
import { found } from "./programs.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));
const chart = `${root}deploy/helm`;

/** The objects that the chart makes with these values, by kind and name. */
async function objects(...values: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const args = ["template", "postern", chart, "--kube-version", "1.33.0", ...values];
  const { stdout } = await run("helm", args);
  const all = stdout.split(/^---\n/m).filter((text) => /^kind: /m.test(text));
  return new Map(all.map((text) => [`${line(text, "kind")} ${line(text, "  name")}`, text]));
}

const line = (text: string, key: string) => new RegExp(`^${key}: (.*)$`, "m").exec(text)?.[1];

const names = (text = "") => [...text.matchAll(/^ +- name: ([A-Z][A-Z0-9_]+)$/gm)].map(([, name]) => name);

const secret = (...all: readonly string[]) =>
  `secretSettings=${JSON.stringify(all.map((name) => ({ name, secret: "more", key: "one" })))}`;

const withAll = [
  ...["--set", "tls.secret=certificate,serviceMonitor.enabled=true,secret.migrationDatabaseUrl=OWNER_URL"],
  ...["--set-json", 'networkPolicy.operators=[{"namespaceSelector":{"matchLabels":{"name":"monitoring"}}}]'],
  ...["--set-json", 'networkPolicy.egress=[{"ports":[{"port":5432}]}]'],
  ...["--set-json", 'secretSettings=[{"name":"SMS_TWILIO_AUTH_TOKEN","secret":"twilio","key":"token"}]'],
  ...["--set", "ingress.enabled=true,ingress.host=id.example,ingress.tlsSecret=outside"],
  ...["--set-string", "settings.TRUSTED_PROXIES=10.244.1.7"],
  ...["--set", "autoscaling.enabled=true,autoscaling.maxReplicas=9"],
];

test("a stop of a pod, a container or a service is given more time than it can take", async () => {
  const usual = (name: string) => Number(settings.find((one) => one.name === name)?.default);
  const text = await readFile(`${chart}/values.yaml`, "utf8");
  const delay = Number(/SHUTDOWN_DELAY_MS: "(\d+)"/.exec(text)?.[1]);
  const longest = delay + usual("SHUTDOWN_GRACE_MS") + Math.max(usual("SMS_TIMEOUT_MS"), usual("MAIL_TIMEOUT_MS"));
  const seconds = [
    line(text, "terminationGracePeriodSeconds"),
    /stop_grace_period: (\d+)s/.exec(textOf("deploy/compose.yaml"))?.[1],
    /TimeoutStopSec=(\d+)s/.exec(textOf("deploy/postern.service"))?.[1],
  ];
  for (const one of seconds) expect(Number(one) * 1000).toBeGreaterThan(longest);
});

describe.skipIf(!found("helm"))("the chart of Helm", () => {
  test("is understood by helm, with every value and with none", async () => {
    for (const values of [[], withAll]) {
      const { stdout } = await run("helm", ["lint", "--strict", chart, ...values]);
      expect(stdout).toContain("1 chart(s) linted, 0 chart(s) failed");
    }
  });

  test("makes the objects of a node, and a monitor where one is wanted", async () => {
    const usual = [
      ...["NetworkPolicy postern", "PodDisruptionBudget postern", "ServiceAccount postern", "Service postern"],
      ...["Service postern-nodes", "Deployment postern", "Pod postern-health"],
    ];
    expect([...(await objects()).keys()].sort()).toEqual([...usual].sort());
    const more = ["Ingress postern", "ServiceMonitor postern", "HorizontalPodAutoscaler postern"];
    expect([...(await objects(...withAll)).keys()].sort()).toEqual([...usual, ...more].sort());
  });

  test("every setting that it gives is one of Postern's, and no secret stands in the chart", async () => {
    const known = settings.map(({ name }) => name);
    const text = (await objects(...withAll)).get("Deployment postern") ?? "";
    expect(names(text).filter((name) => !known.includes(name ?? ""))).toEqual([]);
    expect(names(text)).toEqual(
      expect.arrayContaining(["DATABASE_URL", "MIGRATION_DATABASE_URL", "POSTERN_MASTER_KEY"]),
    );
    for (const secret of ["DATABASE_URL", "MIGRATION_DATABASE_URL", "POSTERN_MASTER_KEY", "POSTERN_ADMIN_TOKEN"])
      expect(text).not.toMatch(new RegExp(`name: ${secret}\\n +value:`));
  });

  test("behind an Ingress clients have addresses and the issuer has the name of its host", async () => {
    const text = (await objects(...withAll)).get("Deployment postern") ?? "";
    expect(text).toMatch(/name: TRUSTED_PROXIES\n +value: "10.244.1.7"/);
    expect(text).toMatch(/name: PUBLIC_URL\n +value: "https:\/\/id.example"/);
    const other = await objects(...withAll, "--set-string", "settings.PUBLIC_URL=https://sign-in.example");
    expect(other.get("Deployment postern")).toMatch(/name: PUBLIC_URL\n +value: "https:\/\/sign-in.example"/);
  });

  test("the port serves the console where that is wanted, and nothing else beside the operations", async () => {
    const serves = async (...values: readonly string[]) =>
      /name: PORT_SERVES\n +value: (.*)/.exec((await objects(...values)).get("Deployment postern") ?? "")?.[1];
    expect(await serves()).toBe('"none"');
    expect(await serves("--set", "console=true")).toBe('"console"');
    await expect(objects("--set", "console=docs")).rejects.toThrow(/console/);
  });

  test("an autoscaler counts the nodes where one is wanted, and the deployment does where none is", async () => {
    const scaled = await objects(...withAll);
    expect(scaled.get("HorizontalPodAutoscaler postern")).toMatch(/minReplicas: 2\n +maxReplicas: 9\n/);
    expect(scaled.get("Deployment postern")).not.toMatch(/^ {2}replicas:/m);
    expect((await objects()).get("Deployment postern")).toMatch(/^ {2}replicas: 2$/m);
  });

  test("no variable is given twice, whatever the values are", async () => {
    const all = names((await objects(...withAll)).get("Deployment postern")?.split("containers:")[2]);
    expect(all).toEqual([...new Set(all)]);
  });

  test("no pod is root, writes its own files, or may do more than listen", async () => {
    for (const [name, text] of await objects(...withAll)) {
      if (!/^(Deployment|Pod) /.test(name)) continue;
      const containers = text.match(/^ +image: /gm)?.length;
      expect(text, name).toMatch(/runAsNonRoot: true\n +runAsUser: 1000\n/);
      for (const confined of ["readOnlyRootFilesystem: true", "allowPrivilegeEscalation: false", "drop: \\[ALL\\]"])
        expect(text.match(new RegExp(confined, "g"))?.length, `${name}: ${confined}`).toBe(containers);
    }
  });

  test("an upgrade takes no node away before the next one is ready, and probes ask the port for operations", async () => {
    const text = (await objects()).get("Deployment postern") ?? "";
    expect(text).toContain("maxUnavailable: 0");
    const probes = [...text.matchAll(/(\w+)Probe:\n +httpGet:\n +path: (\S+)\n +port: (\S+)\n +scheme: (\S+)/g)];
    expect(probes.map(([, probe, path, port, scheme]) => [probe, path, port, scheme])).toEqual([
      ["startup", "/healthz", "operations", "HTTP"],
      ["liveness", "/healthz", "operations", "HTTP"],
      ["readiness", "/readyz", "operations", "HTTP"],
    ]);
    const encrypted = (await objects(...withAll)).get("Deployment postern") ?? "";
    expect(encrypted.match(/scheme: HTTPS/g)).toHaveLength(3);
  });

  test("the port for operations is open to those who are named, and to nobody else", async () => {
    const closed = (await objects()).get("NetworkPolicy postern");
    expect(closed).toContain("port: calls");
    expect(closed).not.toContain("port: operations");
    const open = (await objects(...withAll)).get("NetworkPolicy postern");
    expect(open).toMatch(/port: operations\n +from:\n +- namespaceSelector:/);
  });

  test.each([
    ["a value that the chart does not have", ["--set", "replica=3"], "'replica' not allowed"],
    ["a setting that the chart gives", ["--set-string", "settings.PORT=80"], "settings.PORT: the chart sets it itself"],
    [
      "a secret among the settings",
      ["--set-string", "settings.DATABASE_URL=x"],
      "settings.DATABASE_URL: it is a secret",
    ],
    ["no node", ["--set", "replicas=0"], "replicas"],
    [
      "an autoscaler with fewer nodes than the least",
      ["--set", "autoscaling.enabled=true,autoscaling.maxReplicas=1"],
      "autoscaling.maxReplicas",
    ],
    ["a setting that Postern does not have", ["--set-string", "settings.DATABSE_URL=x"], "no such setting"],
    ["a secret of that kind", ["--set-json", secret("DATABSE_URL")], "Postern has no setting DATABSE_URL"],
    ["a secret that has its own value", ["--set-json", secret("DATABASE_URL")], "DATABASE_URL comes from the secret"],
    ["a secret for a setting that the chart gives", ["--set-json", secret("PORT")], "PORT is given twice"],
    ["a setting that is a secret too", ["--set-json", secret("LOG_FORMAT")], "LOG_FORMAT is given twice"],
    ["a secret given twice", ["--set-json", secret("SMS_TEXT", "SMS_TEXT")], "SMS_TEXT is given twice"],
    [
      "less time for a stop than it may take",
      ["--set-string", "settings.SHUTDOWN_DELAY_MS=30000"],
      "terminationGracePeriodSeconds: a stop may take 70 s",
    ],
    ["an Ingress without a host", ["--set", "ingress.enabled=true"], "ingress.host"],
    [
      "an Ingress whose controller is not named",
      ["--set", "ingress.enabled=true,ingress.host=id.example"],
      "settings.TRUSTED_PROXIES: an Ingress needs the addresses of its controller",
    ],
  ])("refuses %s", async (_, values, sentence) => {
    await expect(objects(...values)).rejects.toThrow(sentence);
  });
});
