import { exitCodes } from "./command.ts";

/** Writes lines to standard output; returns the exit code for success. */
export function print(lines: readonly string[]): number {
  process.stdout.write(`${lines.join("\n")}\n`);
  return exitCodes.done;
}

/** Writes a sentence to standard error; returns the exit code. */
export function fail(code: number, sentence: string): number {
  process.stderr.write(`postern: ${sentence}\n`);
  return code;
}

export function warn(sentence: string): void {
  process.stderr.write(`postern: ${sentence}\n`);
}

// Errors with these names are written for the operator; any other is printed with its stack.
const forPeople = ["ConfigError", "StartError", "UsageError", "NoParent"];

/** An error that ends the program, as shown to the operator. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, syscall, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (syscall === "listen" && code === "EADDRINUSE")
    return `${address}:${port} is in use: stop the program that listens there, or set PORT or OPERATIONS_PORT`;
  if (syscall === "listen" || syscall === "getaddrinfo")
    return `Cannot listen (${error.message}): check HOST, PORT and OPERATIONS_PORT`;
  return forPeople.includes(error.name) ? error.message : (error.stack ?? error.message);
}

/** A log of only warnings and errors, for commands that print their own results. */
export const plainLog = {
  debug() {},
  info() {},
  warn: (_fields: object, message: string) => warn(message),
  error: (_fields: object, message: string) => warn(message),
};
