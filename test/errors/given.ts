import { openClient } from "../fixture/database_client.ts";
import { givenUpMail } from "../fixture/given_up.ts";
import { signedUp } from "../harness.ts";
import { mailsTo } from "../notify/mail_log.ts";
import { fresh, type Scene } from "./provocation.ts";

/** Sends a mail again that was changed since it was given up. */
export async function retryDead({ postern, german, fixture }: Scene, set: string) {
  const id = await givenUpMail(postern.databaseUrl, { ...fixture, organizationId: postern.organizationId });
  await using database = openClient(postern.databaseUrl);
  await database.client.unsafe(`update mail_messages set ${set} where mail_id = '${id}'`);
  return german.post(`/v1/deliveries/${id}:retry`, {});
}

/** An API with a resource URI. */
export const withUri = ({ german, fixture }: Pick<Scene, "german" | "fixture">, uri: string) =>
  german.post(`/v1/projects/${fixture.projectId}/applications/api`, { name: fresh("API"), resourceUris: [uri] });

/** The code of an invitation that offers nothing. */
export async function invited({ postern, admin }: Scene, email: string, offers: object = {}): Promise<string> {
  await admin.post("/v1/invitations", { items: [{ email }], ...offers });
  const [mail] = await mailsTo(postern, email);
  return /^[2-9A-Z-]{20,}$/m.exec(mail?.text ?? "")?.[0] ?? "";
}

export async function accept(
  { postern, germanAs }: Scene,
  code: string,
  person?: Awaited<ReturnType<typeof signedUp>>,
) {
  const { client } = person ?? (await signedUp(postern));
  return germanAs(client.token).post("/v1/invitations:accept", { code });
}
