import { type Postern, signedUp } from "../../harness.ts";
import { type Application, application, authorizeUrl, issuerOf, signIn } from "../application.ts";
import { type Browser, openBrowser } from "../browser.ts";

/** The applications that scenes are played at. */
export type Clients = Readonly<
  Record<"web" | "other" | "poster" | "public" | "native" | "implicit" | "offline", Application>
>;

/** A provider that scenes are played with: Postern, or the library, with the same paths. */
export type Peer = {
  readonly issuer: string;
  readonly clients: Clients;
  readonly person: { readonly username: string; readonly password: string };
};

/** Postern as a peer. */
export async function posternPeer(postern: Postern): Promise<Peer> {
  const { admin } = postern;
  const grantTypes = ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"];
  const responseTypes = ["OIDC_RESPONSE_TYPE_ID_TOKEN", "OIDC_RESPONSE_TYPE_ID_TOKEN_TOKEN"];
  const web = await application(admin);
  return {
    issuer: issuerOf(postern),
    person: await signedUp(postern),
    clients: {
      web,
      other: await application(admin),
      poster: await application(admin, { authMethodType: "OIDC_AUTH_METHOD_TYPE_POST" }),
      public: await application(admin, {
        ...{ appType: "OIDC_APP_TYPE_USER_AGENT", authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE" },
      }),
      native: await application(admin, {
        ...{ appType: "OIDC_APP_TYPE_NATIVE", authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE" },
        ...{ redirectUris: ["http://127.0.0.1/cb"], skipNativeAppSuccessPage: true },
      }),
      implicit: await application(admin, { grantTypes: ["OIDC_GRANT_TYPE_IMPLICIT"], responseTypes }),
      offline: await application(admin, { grantTypes }),
    },
  };
}

/** A browser that is signed in by the password. */
export async function signedIn({ issuer, clients, person }: Peer): Promise<Browser> {
  const browser = openBrowser(issuer);
  await signIn(browser, authorizeUrl(issuer, clients.web), person);
  return browser;
}
