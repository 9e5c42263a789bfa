import { useSignal } from "@preact/signals";
import { useLocation } from "preact-iso";
import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import { linkTo } from "../links.ts";
import type { PageProps } from "../page_props.ts";
import type { Draft, Field } from "../parts/field.tsx";
import { Form, type Submission } from "../parts/form.tsx";
import { useName } from "../parts/names.tsx";
import { Once } from "../parts/once.tsx";
import { Card, PageHeader } from "../parts/page.tsx";
import { say } from "../parts/toasts.tsx";
import { applicationTexts } from "../texts/applications.ts";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";
import { authMethods } from "./authentication.tsx";
import { type Kind, kinds, shapes } from "./kinds.ts";
import { type ComplianceQuestion, LiveCompliance } from "./live_compliance.tsx";

/** The wizard: the kind of the application decides which fields it asks for. */
export default function NewApplicationPage({ projectId = "" }: PageProps) {
  const { route } = useLocation();
  const draft = useSignal<Draft>(beginning);
  const secret = useSignal<string | undefined>(undefined);
  const made = useSignal("");
  const project = useName(projectId);
  const show = () => route(linkTo(["projects", projectId, "applications", made.value]));
  const submit = async ({ draft: written, key }: Submission) => {
    const options = { key, organizationId: organizationId.value };
    const { appId = "", clientSecret } =
      written.kind === "api"
        ? await call("ApplicationService/CreateApiApplication", apiRequest(projectId, written), options)
        : await call("ApplicationService/CreateOidcApplication", oidcRequest(projectId, written), options);
    say(t(applicationTexts.created));
    made.value = appId;
    if (clientSecret) secret.value = clientSecret;
    else show();
  };
  return (
    <>
      <PageHeader
        title={t(applicationTexts.create)}
        path={[
          { text: t(shellTexts.projects), href: linkTo(["projects"]) },
          { text: project?.name ?? projectId, href: linkTo(["projects", projectId, "applications"]) },
        ]}
      />
      <Card class="wizard">
        <Form
          fields={fieldsOf}
          values={beginning}
          submitText={t(applicationTexts.create)}
          onSubmit={submit}
          onDraft={(now) => {
            draft.value = now;
          }}
        >
          <LiveCompliance of={questionOf(projectId, draft.value)} />
        </Form>
      </Card>
      <Once title={t(applicationTexts.secret)} about={t(applicationTexts.secretOnce)} secret={secret} onClose={show} />
    </>
  );
}

const beginning: Draft = {
  kind: "web",
  name: "",
  redirectUris: [],
  postLogoutRedirectUris: [],
  authMethodType: "OIDC_AUTH_METHOD_TYPE_BASIC",
  apiAuthMethodType: "API_AUTH_METHOD_TYPE_BASIC",
  hasRefreshTokens: true,
  devMode: false,
};

const isOidc = ({ kind }: Draft): boolean => kind !== "api";
const hasRedirects = ({ kind }: Draft): boolean => kind !== "api" && kind !== "device";

function fieldsOf(): readonly Field[] {
  return [
    {
      name: "kind",
      label: t(applicationTexts.kind),
      kind: "cards",
      options: kinds.map((kind) => ({
        value: kind,
        label: t(applicationTexts[kind]),
        help: t(applicationTexts[`${kind}About`]),
      })),
    },
    { name: "name", label: t(applicationTexts.name), help: t(applicationTexts.nameAbout) },
    {
      name: "redirectUris",
      label: t(applicationTexts.redirectUris),
      kind: "lines",
      help: t(applicationTexts.redirectUrisAbout),
      isShown: hasRedirects,
    },
    {
      name: "postLogoutRedirectUris",
      label: t(applicationTexts.postLogoutRedirectUris),
      kind: "lines",
      isOptional: true,
      isShown: hasRedirects,
    },
    {
      name: "authMethodType",
      label: t(applicationTexts.authMethod),
      kind: "choice",
      options: authMethods("OIDC", ["BASIC", "POST", "PRIVATE_KEY_JWT"]),
      isShown: ({ kind }) => kind === "web",
    },
    {
      name: "apiAuthMethodType",
      label: t(applicationTexts.authMethod),
      kind: "choice",
      options: authMethods("API", ["BASIC", "POST", "PRIVATE_KEY_JWT"]),
      isShown: ({ kind }) => kind === "api",
    },
    {
      name: "hasRefreshTokens",
      label: t(applicationTexts.refresh),
      kind: "switch",
      help: t(applicationTexts.refreshAbout),
      isShown: isOidc,
    },
    {
      name: "devMode",
      label: t(applicationTexts.devMode),
      kind: "switch",
      help: t(applicationTexts.devModeAbout),
      isShown: hasRedirects,
    },
  ];
}

const linesOf = (value: Draft[string] | undefined): string[] =>
  typeof value === "object" ? value.map((line) => line.trim()).filter(Boolean) : [];

function oidcRequest(projectId: string, draft: Draft) {
  const shape = shapes[draft.kind as Exclude<Kind, "api">];
  const hasRefresh = draft.hasRefreshTokens === true;
  const grantTypes = [...(shape.grantTypes ?? []), ...(hasRefresh ? (["OIDC_GRANT_TYPE_REFRESH_TOKEN"] as const) : [])];
  return {
    projectId,
    name: String(draft.name),
    ...shape,
    grantTypes,
    ...(hasRedirects(draft)
      ? {
          responseTypes: ["OIDC_RESPONSE_TYPE_CODE" as const],
          redirectUris: linesOf(draft.redirectUris),
          postLogoutRedirectUris: linesOf(draft.postLogoutRedirectUris),
          devMode: draft.devMode === true,
        }
      : {}),
    ...(draft.kind === "web" ? { authMethodType: draft.authMethodType as "OIDC_AUTH_METHOD_TYPE_BASIC" } : {}),
  };
}

/** Asks whether the draft would be compliant, if there is enough to judge; under a name that is free. */
function questionOf(projectId: string, draft: Draft): ComplianceQuestion | undefined {
  const isEnough = isOidc(draft) && (!hasRedirects(draft) || linesOf(draft.redirectUris).length > 0);
  if (!isEnough) return undefined;
  const { name: _, ...about } = oidcRequest(projectId, draft);
  const options = { organizationId: organizationId.value };
  return {
    about,
    ask(signal) {
      const request = { ...about, name: `? ${crypto.randomUUID()}`, validateOnly: true };
      return call("ApplicationService/CreateOidcApplication", request, { ...options, signal });
    },
  };
}

const apiRequest = (projectId: string, draft: Draft) => ({
  projectId,
  name: String(draft.name),
  authMethodType: draft.apiAuthMethodType as "API_AUTH_METHOD_TYPE_BASIC",
});
