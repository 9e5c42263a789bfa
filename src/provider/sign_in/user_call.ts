import type { DescMethod } from "@bufbuild/protobuf";
import { createHandlerContext, type HandlerContext } from "@connectrpc/connect";
import type { HttpRequest } from "@postern/gateway";
import { type Call, keys } from "../../deps.ts";
import { callOf } from "../request/endpoint.ts";
import type { BrowserSession } from "./browser_session.ts";

type UserOfSession = Pick<BrowserSession, "userId" | "owner" | "sessionId">;

/**
 * The call that a page request represents, made by the user of a browser session. It has no role, so it can only act on its own account.
 */
export function callOfUser(http: HttpRequest, { userId, owner, sessionId }: UserOfSession): Call {
  http.values.set(keys.caller, { userId, organization: owner, sessionId, memberships: [] });
  http.values.set(keys.organization, owner);
  return callOf(http);
}

/** The same for an rpc's handler. The page has to check the fields, and that they name only the user. */
export function contextOfUser(http: HttpRequest, session: UserOfSession, method: DescMethod): HandlerContext {
  const { values, signal } = callOfUser(http, session);
  return createHandlerContext({
    service: method.parent,
    method,
    protocolName: "page",
    requestMethod: http.method,
    url: `http://localhost${http.path}`,
    requestSignal: signal,
    requestHeader: { "user-agent": http.headers["user-agent"] ?? "" },
    contextValues: values,
  });
}
