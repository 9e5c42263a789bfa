import type { HttpRequest } from "@postern/gateway";
import { type Call, keys } from "../deps.ts";
import type { BrowserSession } from "./browser_session.ts";
import { callOf } from "./endpoint.ts";

/** The call that a request of a page is, with the user of a browser session as its caller. It has no role, and acts on itself alone. */
export function callOfUser(http: HttpRequest, session: Pick<BrowserSession, "userId" | "owner" | "sessionId">): Call {
  const { userId, owner, sessionId } = session;
  http.values.set(keys.caller, { userId, organization: owner, sessionId, memberships: [] });
  http.values.set(keys.organization, owner);
  return callOf(http);
}
