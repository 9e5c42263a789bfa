import type { MachineCalls } from "./machine_calls.ts";
import type { SignOnCalls } from "./sign_on_calls.ts";

/** An OpenID Provider that is measured, running on a database of its own, with browsers that are signed in. */
export type Provider = AsyncDisposable & {
  readonly name: "Postern" | "oidc-provider" | "Keycloak";
  readonly url: string;
  readonly databaseUrl: string;
  /** The process whose CPU counts. */
  readonly pid: number;
  /** The seconds of load until its code is compiled. */
  readonly warmSeconds: number;
  readonly calls: SignOnCalls;
  readonly machineCalls: MachineCalls;
  /** The token of the administrator, of ours alone. */
  readonly token?: string;
  /** The p99 of the delays of its event loop in milliseconds, since it was asked last. */
  readonly delay?: () => Promise<number>;
};

/** The users of a provider, each with a browser of its own. */
export const users = 128;

/** The machines of a provider, each with a secret of its own. */
export const machines = 128;

/** The name by which a user signs in. */
export const usernameOf = (n: number): string => `user${n}`;

/** The password of all users. */
export const password = "Blue-Kettle-42";

/** The URI that codes are sent to; nothing listens there. */
export const redirectUri = "https://app.example/cb";
