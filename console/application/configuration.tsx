import type { ApplicationJson, OidcApplicationUpdateJson } from "../../gen/postern/v1/application_pb.ts";
import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import { changesOf, type Version } from "../parts/conflict.tsx";
import { EditCard } from "../parts/edit_card.tsx";
import type { Draft, Field } from "../parts/field.tsx";
import { forgetName } from "../parts/names.tsx";
import { Card } from "../parts/page.tsx";
import type { Save } from "../parts/version_form.tsx";
import { may } from "../sign_in/me.ts";
import { applicationTexts } from "../texts/applications.ts";
import { t } from "../texts/text.ts";
import type { ApplicationPart } from "./application_part.ts";
import { Compliance } from "./compliance.tsx";
import { kindOf } from "./kinds.ts";
import { type ComplianceQuestion, LiveCompliance } from "./live_compliance.tsx";

/** How the application signs users in, and the contents of its tokens. */
export function Configuration(given: ApplicationPart) {
  const { application, projectId, onChanged } = given;
  const about = { projectId, appId: application.id ?? "" };
  const options = { organizationId: organizationId.value };
  const read = async () =>
    versionOf((await call("ApplicationService/GetApplication", about, options)).application ?? {});
  const save = ({ draft, changed, expectedSequence, key }: Save) => {
    if (application.api)
      return call(
        "ApplicationService/UpdateApiApplication",
        { ...about, application: { name: String(draft.name) }, expectedSequence },
        { ...options, key },
      );
    const update = updateOf(changed, application);
    // With a mask, because a list may become empty.
    const updateMask = Object.keys(update).join(",");
    const request = { ...about, application: update, updateMask, expectedSequence };
    return call("ApplicationService/UpdateOidcApplication", request, { ...options, key });
  };
  const onSaved = () => {
    forgetName(about.appId);
    return onChanged();
  };
  return (
    <>
      {application.oidc && (
        <Card title={t(applicationTexts.compliance)}>
          <Compliance problems={application.complianceProblems ?? []} />
        </Card>
      )}
      <EditCard
        title={t(applicationTexts.configuration)}
        fields={fieldsOf(application)}
        version={versionOf(application)}
        mayEdit={may("ApplicationService/UpdateOidcApplication", { projectId })}
        read={read}
        save={save}
        onSaved={onSaved}
        preview={(draft) => <LiveCompliance of={questionOf(draft, given)} />}
      />
    </>
  );
}

const refresh = "OIDC_GRANT_TYPE_REFRESH_TOKEN";

function fieldsOf(application: ApplicationJson): readonly Field[] {
  const name: Field = { name: "name", label: t(applicationTexts.name) };
  if (!application.oidc) return [name];
  const redirects: Field[] = [
    {
      name: "redirectUris",
      label: t(applicationTexts.redirectUris),
      kind: "lines",
      help: t(applicationTexts.redirectUrisAbout),
    },
    {
      name: "postLogoutRedirectUris",
      label: t(applicationTexts.postLogoutRedirectUris),
      kind: "lines",
      isOptional: true,
    },
    { name: "additionalOrigins", label: t(applicationTexts.origins), kind: "lines", isOptional: true },
    { name: "devMode", label: t(applicationTexts.devMode), kind: "switch", help: t(applicationTexts.devModeAbout) },
    {
      name: "requirePushedAuthorizationRequests",
      label: t(applicationTexts.pushed),
      kind: "switch",
      help: t(applicationTexts.pushedAbout),
    },
    {
      name: "dpopBoundAccessTokens",
      label: t(applicationTexts.bound),
      kind: "switch",
      help: t(applicationTexts.boundAbout),
    },
  ];
  return [
    name,
    ...(kindOf(application) === "device" ? [] : redirects),
    {
      name: "hasRefreshTokens",
      label: t(applicationTexts.refresh),
      kind: "switch",
      help: t(applicationTexts.refreshAbout),
    },
    { name: "isJwt", label: t(applicationTexts.jwt), kind: "switch", help: t(applicationTexts.jwtAbout) },
    { name: "accessTokenRoleAssertion", label: t(applicationTexts.rolesInAccessToken), kind: "switch" },
    { name: "idTokenRoleAssertion", label: t(applicationTexts.rolesInIdToken), kind: "switch" },
    { name: "idTokenUserinfoAssertion", label: t(applicationTexts.profileInIdToken), kind: "switch" },
  ];
}

function versionOf({ name = "", oidc, details }: ApplicationJson): Version {
  const values: Draft = {
    name,
    redirectUris: oidc?.redirectUris ?? [],
    postLogoutRedirectUris: oidc?.postLogoutRedirectUris ?? [],
    additionalOrigins: oidc?.additionalOrigins ?? [],
    devMode: oidc?.devMode ?? false,
    requirePushedAuthorizationRequests: oidc?.requirePushedAuthorizationRequests ?? false,
    dpopBoundAccessTokens: oidc?.dpopBoundAccessTokens ?? false,
    hasRefreshTokens: oidc?.grantTypes?.includes(refresh) ?? false,
    isJwt: oidc?.accessTokenType === "OIDC_TOKEN_TYPE_JWT",
    accessTokenRoleAssertion: oidc?.accessTokenRoleAssertion ?? false,
    idTokenRoleAssertion: oidc?.idTokenRoleAssertion ?? false,
    idTokenUserinfoAssertion: oidc?.idTokenUserinfoAssertion ?? false,
  };
  return { values, sequence: details?.sequence ?? "0" };
}

/** Asks whether the draft would be compliant, once anything is written; the name is not in question, and may be missing or taken. */
function questionOf(draft: Draft, { application, projectId }: ApplicationPart): ComplianceQuestion | undefined {
  const { name: _, ...changed } = changesOf(versionOf(application).values, draft);
  const about = updateOf(changed, application);
  const updateMask = Object.keys(about).join(",");
  if (!application.oidc || updateMask === "") return undefined;
  const request = { projectId, appId: application.id ?? "", application: about, updateMask };
  const options = { organizationId: organizationId.value };
  return {
    about,
    ask: (signal) =>
      call("ApplicationService/UpdateOidcApplication", { ...request, validateOnly: true }, { ...options, signal }),
  };
}

/** Two switches represent values of the contract; the others have its names. */
function updateOf({ hasRefreshTokens, isJwt, ...others }: Draft, { oidc }: ApplicationJson): OidcApplicationUpdateJson {
  const grants = (oidc?.grantTypes ?? []).filter((one) => one !== refresh);
  return {
    ...(others as OidcApplicationUpdateJson),
    ...(hasRefreshTokens === undefined ? {} : { grantTypes: hasRefreshTokens ? [...grants, refresh] : grants }),
    ...(isJwt === undefined ? {} : { accessTokenType: isJwt ? "OIDC_TOKEN_TYPE_JWT" : "OIDC_TOKEN_TYPE_BEARER" }),
  };
}
