import { generateKeyPairSync, randomBytes } from "node:crypto";
import { post } from "../users.ts";

/** The applications of the target. Their ids and URIs stand in the address of every sign-in, so unknown callers know them. */
export const registered = {
  /** A web server with a secret. */
  web: "hostile-web",
  /** A program without a secret, which devices use too. */
  open: "hostile-open",
  /** A web server that signs assertions. */
  signing: "hostile-signing",
} as const;

export const redirectUri = "https://app.example.com/cb";
export const postLogoutRedirectUri = "https://app.example.com/out";

/** The ids of the keys of the application that signs. */
export const keyIds = { rsa: "rsa", ec: "ec" } as const;

type Administrator = { readonly url: string; readonly token: string };

/** Registers the applications. */
export async function registerApplications({ url, token }: Administrator): Promise<void> {
  const { projectId } = await post(url, "/v1/projects", { body: { name: "Hostile" }, token });
  const path = `/v1/projects/${projectId}/applications`;
  const shared = { redirectUris: [redirectUri], postLogoutRedirectUris: [postLogoutRedirectUri] };
  const grantTypes = ["AUTHORIZATION_CODE", "REFRESH_TOKEN", "DEVICE_CODE"].map((one) => `OIDC_GRANT_TYPE_${one}`);
  const kinds = [
    [registered.web, {}],
    [registered.open, { appType: "OIDC_APP_TYPE_NATIVE", authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE" }],
    [registered.signing, { authMethodType: "OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT" }],
  ] as const;
  for (const [clientId, settings] of kinds) {
    const body = { name: clientId, clientId, grantTypes, ...shared, ...settings };
    const { appId } = await post(url, `${path}/oidc`, { body, token });
    if (clientId !== registered.signing) continue;
    for (const publicKey of keys()) await post(url, `${path}/${appId}/keys`, { body: { publicKey }, token });
  }
}

/** Keys as large as applications may have. */
function keys(): readonly object[] {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 4096 }).publicKey.export({ format: "jwk" });
  const ec = generateKeyPairSync("ec", { namedCurve: "P-521" }).publicKey.export({ format: "jwk" });
  return [
    { ...rsa, kid: keyIds.rsa },
    { ...ec, kid: keyIds.ec },
  ];
}

/** A JWT with a signature of this many bytes that nobody made, as long as wanted. */
export function forgedJwt(
  header: object,
  claims: object,
  { length, bytes }: Readonly<Record<"length" | "bytes", number>>,
) {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signature = randomBytes(bytes).toString("base64url");
  const fixed = part(header).length + signature.length + 2;
  const room = Math.floor((length - fixed) * 0.75) - JSON.stringify({ ...claims, filling: "" }).length;
  return `${part(header)}.${part({ ...claims, filling: "a".repeat(Math.max(0, room)) })}.${signature}`;
}
