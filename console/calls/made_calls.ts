import { signal } from "@preact/signals";

/** A call that the page made. */
export type MadeCall = {
  readonly method: string;
  readonly request: unknown;
  readonly organizationId?: string | undefined;
  readonly status: number;
  readonly took: number;
};

const most = 50;

/** The last calls of the current page. */
export const madeCalls = signal<readonly MadeCall[]>([]);

export function record(made: MadeCall): void {
  madeCalls.value = [...madeCalls.value, { ...made, request: withoutSecrets(made.request) }].slice(-most);
}

/** Forgets the calls: another page opens. */
export function forgetCalls(): void {
  madeCalls.value = [];
}

const secret = /password|secret|verificationCode|pendingToken|challengeToken|^logo$|^favicon$/i;

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== undefined)
      .map(([name, one]) => [name, secret.test(name) && typeof one === "string" ? "…" : withoutSecrets(one)]),
  );
}
