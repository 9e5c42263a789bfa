import type { SignInLimits } from "../services/sign_in_limit.ts";

/** How long things of sign-in at applications last, and how many sign-ins may fail. */
export type ProviderSettings = SignInLimits & {
  readonly codeLifetimeSeconds: number;
  readonly oauthTokenLifetimeSeconds: number;
  readonly refreshIdleSeconds: number;
  readonly refreshLifetimeSeconds: number;
  readonly browserSessionIdleSeconds: number;
  readonly browserSessionLifetimeSeconds: number;
};

/** The time that is some seconds later. */
export const later = (time: Date, seconds: number): Date => new Date(time.getTime() + seconds * 1000);

/** A time in seconds since 1970. */
export const secondsOf = (time: Date): number => Math.floor(time.getTime() / 1000);
