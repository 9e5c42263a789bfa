import { spawnSync } from "node:child_process";

// The clients of each toolchain, and commands that succeed where it is complete.
const toolchains = {
  curl: { clients: "curl", probes: [["curl", "--version"]] },
  chromium: { clients: "the clients in a browser", probes: [["chromium", "--version"]] },
  apache: {
    clients: "mod_auth_openidc",
    probes: [
      ["apache2", "-v"],
      ["ls", "/usr/lib/apache2/modules/mod_auth_openidc.so"],
    ],
  },
  go: { clients: "grpc-go, connect-go, grpcurl and go-oidc", probes: [["go", "version"]] },
  python: { clients: "grpcio and Authlib", probes: [["python3", "-c", "import ensurepip, venv"]] },
  java: {
    clients: "grpc-java, Spring Security, Keycloak, and the clients that openapi-generator makes",
    probes: [
      ["javac", "-version"],
      ["mvn", "--version"],
    ],
  },
} satisfies Record<string, { clients: string; probes: [string, ...string[]][] }>;

/** The toolchains beyond npm. */
export type Toolchain = keyof typeof toolchains;

/** The command that this machine does not run, of those that a toolchain needs. */
function missing(name: Toolchain): string | undefined {
  const probes: readonly (readonly [string, ...string[]])[] = toolchains[name].probes;
  return probes.find(([command, ...more]) => spawnSync(command, more).status !== 0)?.join(" ");
}

/** Says whether the machine has a toolchain. */
export const found = (name: Toolchain): boolean => missing(name) === undefined;

/** One line for each toolchain that is not there: what does not run, and why. */
export const skipped = (): string[] =>
  Object.entries(toolchains).flatMap(([name, { clients }]) => {
    const command = missing(name as Toolchain);
    return command ? [`skipped: ${clients}, for here \`${command}\` does not run`] : [];
  });
