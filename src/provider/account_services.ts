import type { Deps } from "../deps.ts";
import { userOfSessionRead } from "../services/caller_lookups.ts";
import { consentService } from "../services/consent.ts";
import { factorService } from "../services/factor.ts";
import { sessionService } from "../services/session.ts";
import type { SignIns } from "../services/sign_in.ts";
import type { ProviderSettings } from "./settings.ts";

/** The services whose handlers the pages of the account call: what they do is the same as by a call. */
export type AccountServices = ReturnType<typeof accountServices>;

/** Makes the services of the pages of the account. */
export const accountServices = (deps: Deps, settings: ProviderSettings, signIns: SignIns) => ({
  consents: consentService(deps),
  factors: factorService(deps, settings),
  sessions: sessionService(deps, { ...settings, ...signIns }),
  userOfSession: userOfSessionRead(deps.sql),
});
