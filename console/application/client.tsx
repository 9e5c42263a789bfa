import { useSignal } from "@preact/signals";
import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import { Ask } from "../parts/ask.tsx";
import { Id } from "../parts/copy.tsx";
import type { Submission } from "../parts/form.tsx";
import { Once } from "../parts/once.tsx";
import { Card, Facts } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { may } from "../sign_in/me.ts";
import { applicationTexts } from "../texts/applications.ts";
import { credentialTexts } from "../texts/credentials.ts";
import { t } from "../texts/text.ts";
import type { ApplicationPart } from "./application_part.ts";
import { Authentication } from "./authentication.tsx";
import { hasSecret } from "./kinds.ts";

const days = 24 * 3600;

/** The ids and the authentication of the application. */
export function Client(given: ApplicationPart) {
  const { application, projectId, onChanged } = given;
  const { previousSecretExpirationDate: until } = application;
  const secret = useSignal<string | undefined>(undefined);
  const { issuer = "" } = document.documentElement.dataset;
  const method = application.oidc?.authMethodType ?? application.api?.authMethodType ?? "";
  const name = method.replace(/^.*_TYPE_/, "") as "BASIC" | "POST" | "PRIVATE_KEY_JWT" | "NONE";
  const rotate = async ({ draft, key }: Submission) => {
    const request = { projectId, appId: application.id ?? "", overlap: `${draft.overlap}s` };
    const answer = await call("ApplicationService/RotateClientSecret", request, {
      key,
      organizationId: organizationId.value,
    });
    secret.value = answer.clientSecret;
    await onChanged();
  };
  const mayRotate = may("ApplicationService/RotateClientSecret", { projectId });
  const mayUpdate = may("ApplicationService/UpdateOidcApplication", { projectId });
  return (
    <Card
      title={t(applicationTexts.credentials)}
      actions={
        mayUpdate && (
          <>
            {hasSecret(application) && mayRotate && (
              <Ask
                text={t(applicationTexts.rotate)}
                id="new-secret"
                about={t(applicationTexts.rotateAbout)}
                fields={[
                  {
                    name: "overlap",
                    label: t(applicationTexts.overlap),
                    kind: "choice",
                    options: [
                      { value: String(days), label: t(applicationTexts.oneDay) },
                      { value: String(7 * days), label: t(applicationTexts.oneWeek) },
                      { value: "0", label: t(applicationTexts.atOnce) },
                    ],
                  },
                ]}
                values={{ overlap: String(days) }}
                act={rotate}
              />
            )}
            <Authentication {...given} />
          </>
        )
      }
    >
      <Facts
        facts={[
          [t(applicationTexts.clientId), <Id>{application.clientId ?? ""}</Id>],
          [t(applicationTexts.issuer), <Id>{issuer}</Id>],
          [t(applicationTexts.authMethod), name in applicationTexts ? t(applicationTexts[name]) : name],
          ...(until && new Date(until) > new Date()
            ? [[t(credentialTexts.oldSecretUntil), <Time at={until} exact />] as const]
            : []),
        ]}
      />
      <Once title={t(applicationTexts.secret)} about={t(applicationTexts.secretOnce)} secret={secret} />
    </Card>
  );
}
