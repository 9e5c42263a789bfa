import { randomUUID } from "node:crypto";
import type { SystemUnderTest } from "./system_under_test.ts";

/** Makes an organization with an owner, who may do everything there and nothing elsewhere; returns the owner's token. */
export async function outsiderOf({
  server: { url },
  token,
}: Pick<SystemUnderTest, "server" | "token">): Promise<string> {
  const name = `outsider-${randomUUID()}`;
  const { organizationId } = await post(url, "/v1/organizations", { body: { name }, token });
  const at = { token, organization: String(organizationId) };
  const { userId } = await post(url, "/v1/users/machine", { body: { username: name, name }, ...at });
  const path = `/v1/organizations/${organizationId}/members`;
  await post(url, path, { body: { userId, roles: ["ORG_OWNER"] }, ...at });
  const made = await post(url, `/v1/users/${userId}/tokens`, { body: {}, ...at });
  return String(made.token);
}

type Posted = { readonly body: object; readonly token?: string; readonly organization?: string };

/** Posts JSON as a user; throws for anything but success. */
export async function post(url: string, path: string, { body, token = "", organization = "" }: Posted) {
  const headers = { "content-type": "application/json", authorization: token && `Bearer ${token}` };
  const place = organization && { "x-service-orgid": organization };
  const init = { method: "POST", headers: { ...headers, ...place }, body: JSON.stringify(body) };
  const answer = await fetch(url + path, init);
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()) as Record<string, unknown>;
}
