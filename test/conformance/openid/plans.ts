import type { Provider } from "./provider.ts";

/** A plan of the suite: its name, its variant, and the applications that it signs in at. */
export type Plan = {
  readonly name: string;
  readonly variant: Readonly<Record<string, string>>;
  readonly configure: (provider: Provider, suiteUrl: string) => Promise<object>;
};

const alias = "postern";

/** The address of a module, below which applications have their redirect URIs. */
const callbackOf = (suiteUrl: string) => `${suiteUrl}/test/a/${alias}`;

const registered = { server_metadata: "discovery", client_registration: "static_client" };

type Settings = Readonly<Record<string, unknown>>;

function configured(clients: Readonly<Record<string, Settings>>): Plan["configure"] {
  return async (provider, suiteUrl) => {
    const callback = callbackOf(suiteUrl);
    const made: Record<string, unknown> = {};
    for (const [name, { postLogout, backChannel, ...settings }] of Object.entries(clients))
      made[name] = await provider.newClient({
        redirectUris: [`${callback}/callback`],
        ...(postLogout ? { postLogoutRedirectUris: [`${callback}/post_logout_redirect`] } : {}),
        ...(backChannel ? { backChannelLogoutUri: `${callback}/backchannel_logout` } : {}),
        ...settings,
      });
    return { alias, server: { discoveryUrl: `${provider.issuer}/.well-known/openid-configuration` }, ...made };
  };
}

const code = {
  responseTypes: ["OIDC_RESPONSE_TYPE_CODE"],
  grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"],
  authMethodType: "OIDC_AUTH_METHOD_TYPE_BASIC",
};
const implicit = {
  responseTypes: ["OIDC_RESPONSE_TYPE_ID_TOKEN", "OIDC_RESPONSE_TYPE_ID_TOKEN_TOKEN"],
  grantTypes: ["OIDC_GRANT_TYPE_IMPLICIT"],
  authMethodType: "OIDC_AUTH_METHOD_TYPE_BASIC",
};
const codeClients = {
  client: code,
  client2: code,
  client_secret_post: { ...code, authMethodType: "OIDC_AUTH_METHOD_TYPE_POST" },
};

/** The plans of the certification profiles that Postern follows. */
export const plans: readonly Plan[] = [
  { name: "oidcc-config-certification-test-plan", variant: {}, configure: configured({}) },
  { name: "oidcc-basic-certification-test-plan", variant: registered, configure: configured(codeClients) },
  { name: "oidcc-formpost-basic-certification-test-plan", variant: registered, configure: configured(codeClients) },
  {
    name: "oidcc-implicit-certification-test-plan",
    variant: registered,
    configure: configured({ client: implicit, client2: implicit }),
  },
  {
    name: "oidcc-formpost-implicit-certification-test-plan",
    variant: registered,
    configure: configured({ client: implicit, client2: implicit }),
  },
  {
    name: "oidcc-rp-initiated-logout-certification-test-plan",
    variant: { client_registration: "static_client", response_type: "code" },
    configure: configured({ client: { ...code, postLogout: true }, client2: { ...code, postLogout: true } }),
  },
  {
    name: "oidcc-backchannel-rp-initiated-logout-certification-test-plan",
    variant: { client_registration: "static_client", response_type: "code" },
    configure: configured({ client: { ...code, postLogout: true, backChannel: true } }),
  },
];
