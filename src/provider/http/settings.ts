import type { FreshSignInSettings } from "../../services/callers/fresh_sign_in.ts";
import type { FactorSignInSettings } from "../../services/sessions/complete_session.ts";
import type { NoticeSettings } from "../../services/verification/notice.ts";
import type { PhoneSettings } from "../../services/verification/phone_code.ts";
import type { FetchSettings } from "./fetcher.ts";

export type ProviderSettings = FactorSignInSettings &
  FreshSignInSettings &
  FetchSettings &
  NoticeSettings &
  PhoneSettings & {
    readonly publicUrl: string | undefined;
    /** The parts that the port serves in addition to operations; the console, if `console` is among them. */
    readonly portServes: readonly string[];
    /** The hosts whose clients may bring a document of their own; `*` means all. */
    readonly clientDocumentHosts: readonly string[];
    readonly clientDocumentsPerAddressPerMinute: number;
    readonly clientDocumentsPerHostPerMinute: number;
    readonly passwordResetsPerAddressPerMinute: number;
    readonly codeLifetimeSeconds: number;
    readonly deviceCodeLifetimeSeconds: number;
    readonly devicePollSeconds: number;
    readonly pushedRequestsPerAddressPerMinute: number;
    readonly deviceCodesPerAddressPerMinute: number;
    readonly deviceGuessesPerAddressPerMinute: number;
    readonly deviceGuessesPerMinute: number;
    readonly oauthTokenLifetimeSeconds: number;
    readonly refreshIdleSeconds: number;
    readonly refreshLifetimeSeconds: number;
    readonly browserSessionIdleSeconds: number;
    readonly browserSessionLifetimeSeconds: number;
  };

export const later = (time: Date, seconds: number): Date => new Date(time.getTime() + seconds * 1000);

export const secondsOf = (time: Date): number => Math.floor(time.getTime() / 1000);
