import type { HttpRoute } from "@postern/gateway";
import { refuse } from "../errors.ts";
import { isStatementTimeout, isUnavailable } from "../postgres/failure.ts";
import type { PasswordResets } from "../services/password_reset.ts";
import type { SignIns } from "../services/sign_in.ts";
import { accountRoutes } from "./account.ts";
import { authorizeRoute } from "./authorize.ts";
import { brandFiles } from "./brand_files.ts";
import { choosePasswordRoutes } from "./choose_password.ts";
import { confirmEmailRoute } from "./confirm_email.ts";
import { deviceRoute } from "./device.ts";
import { documents } from "./documents.ts";
import { endSessionRoutes } from "./end_session.ts";
import { endpoints, type ProviderParts } from "./endpoints.ts";
import { enrolmentPages, enrolmentRoute } from "./enrolment.ts";
import { forgottenPasswordRoute } from "./forgotten_password.ts";
import { signInPages } from "./pages.ts";
import { signInRoute } from "./sign_in.ts";

type ServiceParts = ProviderParts & { readonly signIns: SignIns; readonly resets: PasswordResets };

/** The OpenID Provider: sign-in at the applications of this instance, as routes of its port. */
export function providerRoutes(parts: ServiceParts): readonly HttpRoute[] {
  const { deps, settings, keys, issuer } = parts;
  const maker = { keys, issuer, ids: deps.ids, seconds: settings.oauthTokenLifetimeSeconds };
  const pages = signInPages({ ...parts, maker });
  const enrolment = enrolmentPages(parts, pages);
  const routes = [
    ...[...documents(parts), ...endpoints(parts), ...brandFiles(deps.sql)],
    ...[authorizeRoute(parts, pages), signInRoute(parts, pages, enrolment), enrolmentRoute(parts, enrolment)],
    ...[deviceRoute(parts, pages), ...endSessionRoutes(parts), ...accountRoutes(parts, pages)],
    ...[forgottenPasswordRoute(parts), ...choosePasswordRoutes(parts), confirmEmailRoute(parts)],
  ];
  return routes.map(inOutages);
}

/** A route whose requests are told to come again while the database is away. */
const inOutages = (route: HttpRoute): HttpRoute => ({
  ...route,
  async handle(request) {
    try {
      return await route.handle(request);
    } catch (error) {
      if (!isUnavailable(error) && !isStatementTimeout(error)) throw error;
      throw refuse.because("UNAVAILABLE", { retrySeconds: 1, cause: error });
    }
  },
});
