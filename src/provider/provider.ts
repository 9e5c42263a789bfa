import type { HttpRoute } from "@postern/gateway";
import type { SignIns } from "../services/sign_in.ts";
import { accountRoutes } from "./account.ts";
import { authorizeRoute } from "./authorize.ts";
import { documents } from "./documents.ts";
import { endpoints, type ProviderParts } from "./endpoints.ts";
import { signInPages } from "./pages.ts";
import { signInRoute } from "./sign_in.ts";

/** The OpenID Provider: sign-in at the applications of this instance, as routes of its port. */
export function providerRoutes(parts: ProviderParts & { readonly signIns: SignIns }): readonly HttpRoute[] {
  const { deps, settings, keys, issuer } = parts;
  const maker = { keys, issuer, ids: deps.ids, seconds: settings.oauthTokenLifetimeSeconds };
  const pages = signInPages({ ...parts, maker });
  const flow = [authorizeRoute(parts, pages), signInRoute(parts, pages), ...accountRoutes(parts, pages)];
  return [...documents(parts), ...endpoints(parts), ...flow];
}
