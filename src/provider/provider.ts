import type { HttpRoute } from "@postern/gateway";
import { refuse } from "../errors.ts";
import type { PasswordResets } from "../services/passwords/password_reset.ts";
import type { SignIns } from "../services/sessions/sign_in.ts";
import { accountRoutes } from "./account/account.ts";
import { enrolmentPages, enrolmentRoute } from "./account/enrolment.ts";
import { deviceRoute } from "./device/device.ts";
import { endpoints } from "./endpoints.ts";
import { invitationRoute } from "./invitations/invitation_route.ts";
import { endSessionRoutes } from "./logout/end_session.ts";
import { choosePasswordRoutes } from "./mail_pages/choose_password.ts";
import { confirmEmailRoute } from "./mail_pages/confirm_email.ts";
import { firstRunRoute } from "./mail_pages/first_run.ts";
import { forgottenPasswordRoute } from "./mail_pages/forgotten_password.ts";
import { mailedSignInRoute } from "./mail_pages/mailed_sign_in.ts";
import { restoreEmailRoute } from "./mail_pages/restore_email.ts";
import { brandFiles } from "./pages/brand_files.ts";
import { atOwnAddress } from "./pages/own_address.ts";
import { pageFiles } from "./pages/page_files.ts";
import { shownRoute } from "./pages/page_route.ts";
import { isOutage } from "./pages/request_notes.ts";
import type { ProviderParts } from "./parts.ts";
import { registrationRoutes } from "./registrations/registration_route.ts";
import { clientDocuments, documentFetch } from "./request/client_document.ts";
import { authorizeRoute } from "./sign_in/authorize.ts";
import { signInRoute } from "./sign_in/sign_in.ts";
import { signInSteps } from "./sign_in/steps.ts";
import { documents } from "./tokens/documents.ts";

type ServiceParts = Omit<ProviderParts, "readDocument"> & {
  readonly signIns: SignIns;
  readonly resets: PasswordResets;
};

/** The routes of the provider: files that browsers and libraries load, and requests. */
export type ProviderRoutes = { readonly files: readonly HttpRoute[]; readonly requests: readonly HttpRoute[] };

/** The OpenID Provider: sign-in at the applications of this instance, as routes of its port. */
export function providerRoutes(given: ServiceParts): ProviderRoutes {
  const { deps, settings, keys, issuer } = given;
  const readDocument = clientDocuments(documentFetch(settings), settings);
  const parts = { ...given, readDocument };
  const maker = { keys, issuer, ids: deps.ids, settings };
  const steps = signInSteps({ ...parts, maker });
  const enrolment = enrolmentPages(parts, steps);
  const files = [...documents(parts), ...pageFiles(), ...brandFiles(deps.sql)];
  const shownPages = [
    ...[authorizeRoute(steps), signInRoute(parts, steps, enrolment), mailedSignInRoute(parts, steps)],
    enrolmentRoute(enrolment),
    ...[deviceRoute(parts, steps), ...endSessionRoutes(parts), ...accountRoutes(parts, steps)],
    ...[
      forgottenPasswordRoute(parts),
      ...choosePasswordRoutes(parts),
      confirmEmailRoute(parts),
      restoreEmailRoute(parts),
      firstRunRoute(parts),
      invitationRoute(parts, steps),
      ...registrationRoutes(parts, steps, enrolment),
    ],
  ];
  const pages = shownPages.map(atOwnAddress(parts)).map(shownRoute(deps, issuer));
  const requests = [...endpoints(parts), ...pages];
  return { files: files.map(inOutages), requests: requests.map(inOutages) };
}

/** A route that answers requests with a retry time while the database is unavailable. */
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
