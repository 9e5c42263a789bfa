import type { Duration } from "@bufbuild/protobuf/wkt";
import type { ProviderSettings } from "../http/settings.ts";
import type { Client } from "../request/client.ts";

/** The instance's lifetimes, for applications without their own. */
export type LifetimeSettings = Pick<
  ProviderSettings,
  "oauthTokenLifetimeSeconds" | "refreshIdleSeconds" | "refreshLifetimeSeconds"
>;

/** How long the tokens of an application are valid, in seconds. */
export type Lifetimes = Readonly<Record<"access" | "id" | "refreshIdle" | "refresh", number>>;

/** The lifetimes of an application's tokens: its own, otherwise the instance's. */
export const lifetimesOf = ({ oidc }: Pick<Client, "oidc">, settings: LifetimeSettings): Lifetimes => ({
  access: secondsIn(oidc.accessTokenLifetime) ?? settings.oauthTokenLifetimeSeconds,
  id: secondsIn(oidc.idTokenLifetime) ?? settings.oauthTokenLifetimeSeconds,
  refreshIdle: secondsIn(oidc.refreshTokenIdleLifetime) ?? settings.refreshIdleSeconds,
  refresh: secondsIn(oidc.refreshTokenLifetime) ?? settings.refreshLifetimeSeconds,
});

const secondsIn = (lifetime: Duration | undefined) => lifetime && Number(lifetime.seconds);
