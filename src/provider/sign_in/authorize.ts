import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import { formMaxBytes } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { asGet, refuseLong } from "../pages/page_query.ts";
import { browserOf, stepOf } from "./browser_step.ts";
import type { SignInSteps } from "./steps.ts";

/**
 * The authorization endpoint. A POST is redirected to a GET, because browsers send SameSite=Lax cookies from another site only with a GET.
 */
export const authorizeRoute = (steps: SignInSteps): HttpRoute => ({
  path: paths.authorize,
  methods: ["GET", "POST"],
  bodyMaxBytes: formMaxBytes,
  handle: (http) => (http.method === "POST" ? asGet(http, paths.authorize) : begun(steps, http)),
});

async function begun(steps: SignInSteps, http: HttpRequest): Promise<Response> {
  refuseLong(http.query);
  const browser = browserOf(steps.jar, http);
  const { isPushed, ...of } = await steps.open(http.query, browser);
  const proven = await steps.prove(of.parameters, http);
  const isUnpushed = !isPushed && proven.client.oidc.requirePushedAuthorizationRequests;
  return steps.proceed({ ...proven, isUnpushed }, { ...stepOf(steps.jar, http, of), browser });
}
