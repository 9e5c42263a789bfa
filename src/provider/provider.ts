import type { HttpRoute } from "@postern/gateway";
import { refuse } from "../errors.ts";
import type { PasswordResets } from "../services/passwords/password_reset.ts";
import type { SignIns } from "../services/sessions/sign_in.ts";
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
import { atOwnAddress } from "./own_address.ts";
import { signInPages } from "./pages.ts";
import { isOutage } from "./request_notes.ts";
import { restoreEmailRoute } from "./restore_email.ts";
import { signInRoute } from "./sign_in.ts";

type ServiceParts = ProviderParts & { readonly signIns: SignIns; readonly resets: PasswordResets };

/** The routes of the provider: of files that browsers and libraries load, and of requests. */
export type ProviderRoutes = { readonly files: readonly HttpRoute[]; readonly requests: readonly HttpRoute[] };

/** The OpenID Provider: sign-in at the applications of this instance, as routes of its port. */
export function providerRoutes(parts: ServiceParts): ProviderRoutes {
  const { deps, settings, keys, issuer } = parts;
  const maker = { keys, issuer, ids: deps.ids, seconds: settings.oauthTokenLifetimeSeconds };
  const pages = signInPages({ ...parts, maker });
  const enrolment = enrolmentPages(parts, pages);
  const files = [...documents(parts), ...brandFiles(deps.sql)];
  const shownPages = [
    ...[authorizeRoute(pages), signInRoute(parts, pages, enrolment), enrolmentRoute(enrolment)],
    ...[deviceRoute(parts, pages), ...endSessionRoutes(parts), ...accountRoutes(parts, pages)],
    ...[
      forgottenPasswordRoute(parts),
      ...choosePasswordRoutes(parts),
      confirmEmailRoute(parts),
      restoreEmailRoute(parts),
    ],
  ];
  const requests = [...endpoints(parts), ...shownPages.map(atOwnAddress(parts))];
  return { files: files.map(inOutages), requests: requests.map(inOutages) };
}

/** A route whose requests are told to come again while the database is away. */
const inOutages = (route: HttpRoute): HttpRoute => ({
  ...route,
  async handle(request) {
    try {
      return await route.handle(request);
    } catch (error) {
      if (!isOutage(error)) throw error;
      throw refuse.because("UNAVAILABLE", { retrySeconds: 1, cause: error });
    }
  },
});
