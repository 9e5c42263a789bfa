import type { Deps } from "../../deps.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { userOfSessionRead } from "../../services/callers/caller_lookups.ts";
import { consentService } from "../../services/consents/consent.ts";
import { factorService } from "../../services/factors/factor.ts";
import { sessionService } from "../../services/sessions/session.ts";
import type { SignIns } from "../../services/sessions/sign_in.ts";
import { userEmail } from "../../services/users/email.ts";
import type { ProviderSettings } from "../http/settings.ts";

/** The services whose handlers the account pages call, so that pages and calls have the same effects. */
export type AccountServices = ReturnType<typeof accountServices>;

export const accountServices = (deps: Deps, settings: ProviderSettings, signIns: SignIns) => ({
  consents: consentService(deps),
  emails: userEmail(deps, settings),
  emailOf: emailOfUserRead(deps.sql),
  factors: factorService(deps, settings),
  sessions: sessionService(deps, { ...settings, ...signIns }),
  userOfSession: userOfSessionRead(deps.sql),
});

/** Reads a user's address, and whether it is verified. */
const emailOfUserRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, { email: string; verified: boolean }>(sql, {
    asked: "owner text, id text",
    select: `select n, u.email, u.email_verified as verified
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id and u.kind = 'human'`,
  });
