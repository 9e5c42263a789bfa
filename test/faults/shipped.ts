import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { textOf } from "../rules/tree.ts";

/** The environment of a node as a file of `deploy/` gives it. */
export type Environment = Readonly<Record<string, string>>;

const chart = fileURLToPath(new URL("../../deploy/helm", import.meta.url));

/** The variables that compose.yaml gives each node; a variable of the shell that starts it is left out. */
export function composeEnvironment(): Environment {
  const block = /^ {2}environment:\n((?: {4}.*\n)+)/m.exec(textOf("deploy/compose.yaml"))?.[1] ?? "";
  const entries = [...block.matchAll(/^ {4}([A-Z_]+): (.*)$/gm)].map(([, name = "", value = ""]) => [name, value]);
  return Object.fromEntries(entries.filter(([, value]) => !value?.startsWith("${")));
}

/** The address that compose.yaml gives its balancer. */
export const composeBalancer = () =>
  /^ {2}balancer:\n(?: {4}.*\n)*? {8}ipv4_address: (\S+)$/m.exec(textOf("deploy/compose.yaml"))?.[1];

/** The variables that the chart gives each node with these values; secrets are left out. */
export async function chartEnvironment(...values: readonly string[]): Promise<Environment> {
  const args = ["template", "postern", chart, "--kube-version", "1.33.0", "--show-only", "templates/deployment.yaml"];
  const { stdout } = await promisify(execFile)("helm", [...args, ...values]);
  const node = stdout.slice(stdout.lastIndexOf("args: [serve]"));
  return Object.fromEntries(
    [...node.matchAll(/- name: ([A-Z_]+)\n +value: (".*")$/gm)].map(([, name = "", value = ""]) => [
      name,
      JSON.parse(value) as string,
    ]),
  );
}
