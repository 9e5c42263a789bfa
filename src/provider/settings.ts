import type { FactorSignInSettings } from "../services/complete_session.ts";
import type { FetchSettings } from "./fetcher.ts";

/** How long things of sign-in at applications last, how many sign-ins may fail, and where keys may be read. */
export type ProviderSettings = FactorSignInSettings &
  FetchSettings & {
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
