import type { Config } from "../config/config.ts";
import { systemCall } from "../deps.ts";
import { factOf, next, type Versioned } from "../events/fact.ts";
import { lostRace } from "../events/log.ts";
import { isLoopback, issuerOf } from "../provider/http/issuer.ts";
import { paths } from "../provider/http/paths.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { makeLinkCode } from "../security/mailed_secret.ts";
import { firstAdministrator } from "./admin_files.ts";

const linkSeconds = 600;

/** The purpose of a link: the first start prints one that only works on the same machine, because its output is kept in logs. */
type LinkPurpose = "first_run" | "recovery";

type Links = Pick<Runtime, "deps">;
type Address = Pick<Config, "publicUrl" | "tlsCertFile" | "port">;

/** Makes a link that signs a user in, once, within ten minutes; undefined if the settings leave the pages without an address. */
export async function linkFor(
  { deps }: Links,
  settings: Address,
  { purpose, userOf }: { readonly purpose: LinkPurpose; readonly userOf: () => Promise<Versioned | undefined> },
): Promise<string | undefined> {
  const issuer = issuerOf(settings, settings.port);
  if (issuer === undefined) return undefined;
  const { log, clock, ids, secrets } = deps;
  for (;;) {
    const user = await userOf();
    if (!user) return undefined;
    const [at, id] = [next(user, clock()), ids()];
    const { code, mac } = makeLinkCode(secrets.keyring);
    const expirationDate = new Date(at.time.getTime() + linkSeconds * 1000).toISOString();
    const mailCode = { id, purpose, email: "", mac: mac.toString("hex"), mailId: null, expirationDate };
    const requested = factOf("user", at, { case: "passwordCodeRequested", value: {} }, { mailCode });
    if (await log.append(systemCall(ids()), [requested], true).catch(lostRace))
      return `${issuer}${paths.firstRun}?code=${code}`;
  }
}

/** The link that the first start prints; none if its pages are only reachable at another address. */
export async function firstLink(runtime: Links, settings: Address): Promise<string | undefined> {
  const { publicUrl } = settings;
  if (publicUrl !== undefined && !isLoopback(new URL(publicUrl).hostname)) return undefined;
  return linkFor(runtime, settings, { purpose: "first_run", userOf: () => firstAdministrator(runtime) });
}
