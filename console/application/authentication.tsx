import { useSignal } from "@preact/signals";
import type {
  ApiAuthMethodTypeJson,
  ApplicationJson,
  OidcAuthMethodTypeJson,
} from "../../gen/postern/v1/application_pb.ts";
import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import type { Version } from "../parts/conflict.tsx";
import { EditDialog } from "../parts/edit_dialog.tsx";
import type { Option } from "../parts/field.tsx";
import { Once } from "../parts/once.tsx";
import type { Save } from "../parts/version_form.tsx";
import { applicationTokenTexts } from "../texts/application_tokens.ts";
import { applicationTexts } from "../texts/applications.ts";
import { t } from "../texts/text.ts";
import type { ApplicationPart } from "./application_part.ts";

/** The ways in which an application authenticates. */
export const authMethods = (
  prefix: "OIDC" | "API",
  names: readonly ("BASIC" | "POST" | "PRIVATE_KEY_JWT" | "NONE")[],
): Option[] => names.map((name) => ({ value: `${prefix}_AUTH_METHOD_TYPE_${name}`, label: t(applicationTexts[name]) }));

const ways = ["BASIC", "POST", "PRIVATE_KEY_JWT"] as const;

/** Changes how the application authenticates; a secret that this creates is shown once. */
export function Authentication({ application, projectId, onChanged }: ApplicationPart) {
  const { api, id: appId = "" } = application;
  const secret = useSignal<string | undefined>(undefined);
  const about = { projectId, appId };
  const read = async () => {
    const options = { organizationId: organizationId.value };
    return versionOf((await call("ApplicationService/GetApplication", about, options)).application ?? {});
  };
  const save = async ({ draft: { authMethodType }, expectedSequence, key }: Save) => {
    const at = { ...about, expectedSequence };
    const options = { key, organizationId: organizationId.value };
    const answer = api
      ? await call(
          "ApplicationService/UpdateApiApplication",
          { ...at, application: { authMethodType: authMethodType as ApiAuthMethodTypeJson } },
          options,
        )
      : await call(
          "ApplicationService/UpdateOidcApplication",
          { ...at, application: { authMethodType: authMethodType as OidcAuthMethodTypeJson } },
          options,
        );
    secret.value = answer.clientSecret;
  };
  return (
    <>
      <EditDialog
        text={t(applicationTokenTexts.changeAuthMethod)}
        title={t(applicationTokenTexts.changeAuthMethod)}
        id="change-authentication"
        about={t(applicationTokenTexts.changeAuthMethodAbout)}
        fields={[
          {
            name: "authMethodType",
            label: t(applicationTexts.authMethod),
            kind: "choice",
            options: api ? authMethods("API", ways) : authMethods("OIDC", [...ways, "NONE"]),
          },
        ]}
        version={versionOf(application)}
        read={read}
        save={save}
        onSaved={onChanged}
      />
      <Once title={t(applicationTexts.secret)} about={t(applicationTexts.secretOnce)} secret={secret} />
    </>
  );
}

const versionOf = ({ api, oidc, details }: ApplicationJson): Version => ({
  values: { authMethodType: api?.authMethodType ?? oidc?.authMethodType ?? "" },
  sequence: details?.sequence ?? "0",
});
