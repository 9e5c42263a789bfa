import type { Deps, Membership } from "../../deps.ts";
import { holdsThere } from "../../guards/missing_permission.ts";
import type { Language } from "../../messages/language.ts";
import { membershipsRead, userOfSessionRead } from "../../services/callers/caller_lookups.ts";
import { consentService } from "../../services/consents/consent.ts";
import { factorService } from "../../services/factors/factor.ts";
import { receivedInvitations } from "../../services/invitations/received_invitation.ts";
import { handlers } from "../../services/module.ts";
import { ownPassword } from "../../services/passwords/own_password.ts";
import { passwordUserRead } from "../../services/passwords/password.ts";
import { privacyPolicies } from "../../services/policies/privacy_policy.ts";
import { projectNamesRead } from "../../services/projects/project_names.ts";
import { sessionService } from "../../services/sessions/session.ts";
import type { SignIns } from "../../services/sessions/sign_in.ts";
import { emailRules, userEmail } from "../../services/users/email.ts";
import { ownErasure } from "../../services/users/erasure.ts";
import { userUpdates } from "../../services/users/update_user.ts";
import { userRead } from "../../services/users/user.ts";
import { phoneRules, userPhone } from "../../services/users/user_phone.ts";
import type { CookieJar } from "../http/cookies.ts";
import type { ProviderSettings } from "../http/settings.ts";
import { languageCookie } from "../pages/language.ts";
import { resourcesNearRead } from "../request/resource.ts";
import { requestsOf } from "./account_attempt.ts";
import type { AccountView } from "./account_page.ts";

/** The services whose handlers the account pages call, so that pages and calls have the same effects, and the reads of the pages. */
export type AccountServices = ReturnType<typeof accountServices>;

export type AccountParts = { readonly deps: Deps; readonly settings: ProviderSettings; readonly signIns: SignIns };

export function accountServices({ deps, settings, signIns }: AccountParts, jar: CookieJar) {
  const [readUser, readPassword] = [userRead(deps.sql), passwordUserRead(deps.sql)];
  return {
    consents: consentService(deps),
    factors: factorService(deps, settings),
    sessions: sessionService(deps, { ...settings, ...signIns }),
    users: handlers(userUpdates(deps), userEmail(deps, settings), userPhone(deps, settings)),
    password: ownPassword(deps, settings),
    erasure: ownErasure(deps, settings),
    policies: privacyPolicies(deps),
    invitations: receivedInvitations(deps),
    projectNames: projectNamesRead(deps.sql),
    resourcesNear: resourcesNearRead(deps.sql),
    membershipsToDecide: decidingRead(deps),
    /** Makes requests, by the rules that the guards of calls enforce. */
    request: requestsOf([...emailRules, ...phoneRules(settings)]),
    userOfSession: userOfSessionRead(deps.sql),
    userOf: (view: AccountView) => ofView(readUser, view),
    passwordOf: (view: AccountView) => ofView(readPassword, view),
    languageCookie: (language: Language) => languageCookie(jar, language, deps.clock()),
  };
}

/** Makes the read of the roles of a user who decides what their own organization accepts; undefined for all others. */
function decidingRead({ sql }: Pick<Deps, "sql">) {
  const membershipsOf = membershipsRead(sql);
  return async ({ userId, owner: id }: AccountView["session"]): Promise<readonly Membership[] | undefined> => {
    const memberships = await membershipsOf(userId);
    const there = { scope: "organization", id, organization: id, roles: [] } as const;
    return holdsThere({ memberships }, "org.write", there) ? memberships : undefined;
  };
}

type Read<R> = (key: { owner: string; id: string }, signal: AbortSignal) => Promise<R | undefined>;

/** Reads the data of the user of a page; the session proves that the user exists. */
async function ofView<R>(read: Read<R>, { http, session }: AccountView): Promise<R> {
  const row = await read({ owner: session.owner, id: session.userId }, http.signal);
  if (!row) throw new Error("the user of a session is not there");
  return row;
}
