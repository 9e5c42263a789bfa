import { expect } from "vitest";
import { issuerOf, type post } from "../provider/application.ts";
import { delegation, exchanged, introspected, userTokens } from "../provider/delegation.ts";
import type { startDocumentSite } from "../provider/document_site.ts";
import { ath, dpopKey, proofOf } from "../provider/dpop.ts";
import { done } from "../provider/holding.ts";
import { bySecret } from "../provider/machine.ts";

/** The headers of a request by a method at a URL, from whoever has an access token that is not for our API. */
export type HeadersOf = (method: string, url: string) => Promise<Readonly<Record<string, string>>>;

/** Access tokens in force that are not for our API, of a person and a machine who own the instance: by what each is for. */
export async function tokensForOthers(
  site: Awaited<ReturnType<typeof startDocumentSite>>,
): Promise<Readonly<Record<string, HeadersOf>>> {
  const { postern } = site;
  const issuer = issuerOf(postern);
  const world = await delegation(postern);
  const { machine, served, target, person } = world;
  for (const { userId } of [person, site.person, machine]) await ownsInstance(userId);
  const key = await dpopKey();
  const dpop = await proofOf(key, ["POST", `${issuer}/oauth/token`]);
  const ofUser = await userTokens(world);
  const at = { scope: "", resource: target.uri };
  const tokens = {
    "of an application": ofUser.access_token,
    "of a client with a document": (await site.tokens(site.newClient())).access_token ?? "",
    "of a machine for a project": await got(bySecret(issuer, machine)),
    "of a machine for an API": await got(bySecret(issuer, machine, at)),
    "of a machine on behalf of a user": await got(exchanged(world, ofUser.access_token)),
    "bound to a key": await got(bySecret(issuer, machine, at, { dpop })),
  };
  const apis = [served, site.api, machine.api, target, target, target];
  for (const [nth, [name, token]] of Object.entries(tokens).entries())
    expect([name, (await introspected(issuer, token, apis[nth] ?? target)).active]).toEqual([name, true]);
  const bearers = Object.entries(tokens).map(([name, token]) => [name, bearer(token)] as const);
  const bound = tokens["bound to a key"];
  const withProof: HeadersOf = async (method, url) => ({
    authorization: `DPoP ${bound}`,
    dpop: await proofOf(key, [method, url], { claims: { ath: ath(bound) } }),
  });
  return { ...Object.fromEntries(bearers), "bound to a key, with its proof": withProof };

  async function ownsInstance(userId: string) {
    done(await postern.admin.post("/v1/members", { userId, roles: ["INSTANCE_OWNER"], instance: true }));
  }
}

const bearer =
  (token: string): HeadersOf =>
  async () => ({ authorization: `Bearer ${token}` });

const got = async (answer: ReturnType<typeof post>): Promise<string> => done(await answer).access_token;
