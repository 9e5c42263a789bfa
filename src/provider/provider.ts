import type { HttpRoute } from "@postern/gateway";
import type { PasswordResets } from "../services/password_reset.ts";
import type { SignIns } from "../services/sign_in.ts";
import { authorizeRoute } from "./authorize.ts";
import { brandFiles } from "./brand_files.ts";
import { choosePasswordRoutes } from "./choose_password.ts";
import { confirmEmailRoute } from "./confirm_email.ts";
import { documents } from "./documents.ts";
import { endpoints, type ProviderParts } from "./endpoints.ts";
import { forgottenPasswordRoute } from "./forgotten_password.ts";
import { signInPages } from "./pages.ts";
import { signInRoute } from "./sign_in.ts";

type ServiceParts = ProviderParts & { readonly signIns: SignIns; readonly resets: PasswordResets };

/** The OpenID Provider: sign-in at the applications of this instance, as routes of its port. */
export function providerRoutes(parts: ServiceParts): readonly HttpRoute[] {
  const { deps, settings, keys, issuer } = parts;
  const maker = { keys, issuer, ids: deps.ids, seconds: settings.oauthTokenLifetimeSeconds };
  const pages = signInPages({ ...parts, maker });
  return [
    ...[...documents(parts), ...endpoints(parts), ...brandFiles(deps.sql)],
    ...[authorizeRoute(parts, pages), signInRoute(parts, pages)],
    ...[forgottenPasswordRoute(parts), ...choosePasswordRoutes(parts), confirmEmailRoute(parts)],
  ];
}
