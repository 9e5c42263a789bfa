import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import { formMaxBytes, parametersIn } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { asGet, refuseLong } from "../pages/query.ts";
import { stepOf } from "./browser_step.ts";
import type { SignInSteps } from "./steps.ts";

/**
 * The authorization endpoint. A POST is redirected to a GET, because from another site browsers send SameSite=Lax cookies only with that.
 */
export const authorizeRoute = (steps: SignInSteps): HttpRoute => ({
  path: paths.authorize,
  methods: ["GET", "POST"],
  bodyMaxBytes: formMaxBytes,
  handle: (http) => (http.method === "POST" ? asGet(http, paths.authorize) : begun(steps, http)),
});

async function begun(steps: SignInSteps, http: HttpRequest): Promise<Response> {
  const { query } = http;
  refuseLong(query);
  const parameters = parametersIn(query);
  const proven = await steps.prove(parameters, http);
  return steps.proceed(proven, stepOf(steps.jar, http, { parameters, query }));
}
