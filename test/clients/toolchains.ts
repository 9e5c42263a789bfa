import { spawnSync } from "node:child_process";

// What runs with each toolchain, and commands that succeed where it is whole.
const toolchains = {
  curl: { clients: "curl", asked: [["curl", "--version"]] },
  chromium: { clients: "the clients in a browser", asked: [["chromium", "--version"]] },
  go: { clients: "grpc-go, connect-go and grpcurl", asked: [["go", "version"]] },
  python: { clients: "grpcio", asked: [["python3", "-c", "import ensurepip, venv"]] },
  java: {
    clients: "grpc-java",
    asked: [
      ["javac", "-version"],
      ["mvn", "--version"],
    ],
  },
} satisfies Record<string, { clients: string; asked: [string, ...string[]][] }>;

/** What clients may need beyond npm. */
export type Toolchain = keyof typeof toolchains;

/** The command that this machine does not run, of those that a toolchain needs. */
function missing(name: Toolchain): string | undefined {
  const asked: readonly (readonly [string, ...string[]])[] = toolchains[name].asked;
  return asked.find(([command, ...more]) => spawnSync(command, more).status !== 0)?.join(" ");
}

/** Says whether the machine has a toolchain. */
export const found = (name: Toolchain): boolean => missing(name) === undefined;

/** One line for each toolchain that is not there: what does not run, and why. */
export const skipped = (): string[] =>
  Object.entries(toolchains).flatMap(([name, { clients }]) => {
    const command = missing(name as Toolchain);
    return command ? [`skipped: ${clients}, for here \`${command}\` does not run`] : [];
  });
