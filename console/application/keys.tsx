import { useSignal } from "@preact/signals";
import type { ApplicationKeyJson, JsonWebKeyJson } from "../../gen/postern/v1/application_pb.ts";
import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import type { Violation } from "../calls/refusal.ts";
import { useCall } from "../calls/use_call.ts";
import { Ask } from "../parts/ask.tsx";
import type { Draft, Field } from "../parts/field.tsx";
import type { Submission } from "../parts/form.tsx";
import { List, listingOf } from "../parts/list.tsx";
import { Once } from "../parts/once.tsx";
import { Card, Empty } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { may } from "../sign_in/me.ts";
import { credentialTexts } from "../texts/credentials.ts";
import { objectTexts } from "../texts/objects.ts";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import type { ApplicationPart } from "./application_part.ts";

/** The public keys with which the application authenticates. */
export function Keys({ application, projectId, onChanged }: ApplicationPart) {
  const about = { projectId, appId: application.id ?? "" };
  const keys = useCall("ApplicationService/ListApplicationKeys", about);
  const secret = useSignal<string | undefined>(undefined);
  const mayWrite = may("ApplicationService/AddApplicationKey", { projectId });
  const done = () => Promise.all([keys.reload(), onChanged()]);
  const add = async ({ draft, key }: Submission) => {
    const made = draft.source === "generate" ? await newPair() : undefined;
    const request = { ...about, ...(made ? { publicKey: made.publicKey } : sourceOf(draft)) };
    await call("ApplicationService/AddApplicationKey", request, { key, organizationId: organizationId.value });
    secret.value = made?.privateKey;
    await done();
  };
  const remove =
    (keyId: string) =>
    async ({ key }: Submission) => {
      const options = { key, organizationId: organizationId.value };
      await call("ApplicationService/RemoveApplicationKey", { ...about, keyId }, options);
      await done();
    };
  return (
    <Card
      class="flush"
      title={t(credentialTexts.keys)}
      about={t(credentialTexts.keysAbout)}
      actions={
        mayWrite && (
          <Ask
            text={t(credentialTexts.addKey)}
            icon="plus"
            id="add-key"
            fields={fields()}
            values={{ source: "generate", publicKey: "", jwksUri: "" }}
            check={wrongKey}
            act={add}
          />
        )
      }
    >
      <List
        of={listingOf(keys, keys.data?.keys ?? [])}
        label={t(credentialTexts.keys)}
        keyOf={({ id = "" }) => id}
        columns={[
          { title: t(credentialTexts.key), cell: (key) => <Key of={key} /> },
          {
            title: t(credentialTexts.added),
            cell: ({ creationDate }) => creationDate && <Time at={creationDate} />,
            isMinor: true,
          },
          {
            title: t(partTexts.acts),
            cell: ({ id = "" }) =>
              mayWrite && (
                <Ask
                  text={t(objectTexts.remove)}
                  kind="danger"
                  about={t(credentialTexts.removeKeyAbout)}
                  act={remove(id)}
                />
              ),
            isActs: true,
          },
        ]}
        empty={<Empty>{t(credentialTexts.noKeys)}</Empty>}
      />
      <Once title={t(credentialTexts.privateKey)} about={t(credentialTexts.privateKeyOnce)} secret={secret} />
    </Card>
  );
}

function Key({ of: { publicKey, jwksUri } }: { readonly of: ApplicationKeyJson }) {
  if (jwksUri) return <code>{jwksUri}</code>;
  const { kid, kty, crv, alg } = publicKey ?? {};
  return (
    <div class="who">
      <div>
        <code>{kid}</code>
        <small>{[kty, crv, alg].filter(Boolean).join(" · ")}</small>
      </div>
    </div>
  );
}

const example = '{"kty":"EC","crv":"P-256","x":"…","y":"…"}';

const fields = (): readonly Field[] => [
  {
    name: "source",
    label: t(credentialTexts.source),
    kind: "cards",
    options: [
      { value: "generate", label: t(credentialTexts.generate), help: t(credentialTexts.generateAbout) },
      { value: "publicKey", label: t(credentialTexts.paste) },
      { value: "jwksUri", label: t(credentialTexts.publishes) },
    ],
  },
  {
    name: "publicKey",
    label: t(credentialTexts.publicKey),
    kind: "area",
    help: t(credentialTexts.publicKeyAbout, { example }),
    isShown: ({ source }) => source === "publicKey",
  },
  {
    name: "jwksUri",
    label: t(credentialTexts.jwksUri),
    isShown: ({ source }) => source === "jwksUri",
  },
];

function jwkIn(text: unknown): JsonWebKeyJson | undefined {
  try {
    const read: unknown = JSON.parse(String(text));
    return typeof read === "object" && read !== null && !Array.isArray(read) ? (read as JsonWebKeyJson) : undefined;
  } catch {
    return undefined;
  }
}

/** An invalid key is reported here, and a private one is not even sent. */
function wrongKey({ source, publicKey }: Draft): Violation | undefined {
  if (source !== "publicKey") return undefined;
  const jwk = jwkIn(publicKey);
  if (!jwk) return { field: "publicKey", text: t(credentialTexts.notJson) };
  return "d" in jwk || "k" in jwk ? { field: "publicKey", text: t(credentialTexts.isPrivate) } : undefined;
}

const sourceOf = ({ source, publicKey, jwksUri }: Draft) =>
  source === "jwksUri" ? { jwksUri: String(jwksUri).trim() } : { publicKey: jwkIn(publicKey) ?? {} };

/** A pair of keys, of which only the public one is sent. */
async function newPair(): Promise<{ readonly publicKey: JsonWebKeyJson; readonly privateKey: string }> {
  const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
  const { kty = "", crv = "", x = "", y = "" } = await crypto.subtle.exportKey("jwk", pair.publicKey);
  const { d } = await crypto.subtle.exportKey("jwk", pair.privateKey);
  const kid = crypto.randomUUID();
  const publicKey = { kty, crv, x, y, kid, alg: "ES256", use: "sig" };
  return { publicKey, privateKey: JSON.stringify({ ...publicKey, d }) };
}
