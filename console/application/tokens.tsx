import type { ApplicationJson, OidcApplicationUpdateJson } from "../../gen/postern/v1/application_pb.ts";
import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import type { Version } from "../parts/conflict.tsx";
import { EditCard } from "../parts/edit_card.tsx";
import type { Draft, Field } from "../parts/field.tsx";
import type { Save } from "../parts/version_form.tsx";
import { may } from "../sign_in/me.ts";
import { applicationTokenTexts } from "../texts/application_tokens.ts";
import { t } from "../texts/text.ts";
import type { ApplicationPart } from "./application_part.ts";

const [second, minute, day] = [1, 60, 24 * 3600];

/** The durations, each with the seconds of the unit in which people write it. */
const durations = {
  accessTokenLifetime: minute,
  idTokenLifetime: minute,
  refreshTokenIdleLifetime: day,
  refreshTokenLifetime: day,
  clockSkew: second,
} as const;
type Duration = keyof typeof durations;
const durationNames = Object.keys(durations) as Duration[];

/** The lifetimes of the application's tokens, and the address that is notified of the end of a session. */
export function Tokens({ application, projectId, onChanged }: ApplicationPart) {
  const about = { projectId, appId: application.id ?? "" };
  const options = { organizationId: organizationId.value };
  const read = async () =>
    versionOf((await call("ApplicationService/GetApplication", about, options)).application ?? {});
  const save = ({ changed, expectedSequence, key }: Save) => {
    // With a mask, because a duration without a value is reset to the instance's.
    const updateMask = Object.keys(changed).join(",");
    const request = { ...about, application: updateOf(changed), updateMask, expectedSequence };
    return call("ApplicationService/UpdateOidcApplication", request, { ...options, key });
  };
  return (
    <EditCard
      title={t(applicationTokenTexts.title)}
      about={t(applicationTokenTexts.about)}
      fields={fieldsOf(application.oidc)}
      version={versionOf(application)}
      mayEdit={may("ApplicationService/UpdateOidcApplication", { projectId })}
      read={read}
      save={save}
      onSaved={onChanged}
    />
  );
}

function fieldsOf(oidc: ApplicationJson["oidc"]): readonly Field[] {
  const hasRefreshTokens = oidc?.grantTypes?.includes("OIDC_GRANT_TYPE_REFRESH_TOKEN") ?? false;
  return [
    ...durationNames.map((name) => ({
      name,
      label: t(applicationTokenTexts[name]),
      kind: "number" as const,
      isOptional: true,
      isShown: () => hasRefreshTokens || !name.startsWith("refresh"),
      ...(name === "clockSkew"
        ? { help: t(applicationTokenTexts.clockSkewAbout) }
        : { shown: (value: Draft[string]) => (value === "" ? t(applicationTokenTexts.ofInstance) : String(value)) }),
    })),
    {
      name: "backChannelLogoutUri",
      label: t(applicationTokenTexts.backChannelLogoutUri),
      help: t(applicationTokenTexts.backChannelLogoutUriAbout),
      isOptional: true,
    },
  ];
}

function versionOf({ oidc, details }: ApplicationJson): Version {
  const written = durationNames.map((name) => {
    const value = oidc?.[name];
    return [name, value === undefined ? "" : String(Number.parseFloat(value) / durations[name])];
  });
  return {
    values: { ...Object.fromEntries(written), backChannelLogoutUri: oidc?.backChannelLogoutUri ?? "" },
    sequence: details?.sequence ?? "0",
  };
}

function updateOf({ backChannelLogoutUri, ...changed }: Draft): OidcApplicationUpdateJson {
  const set = Object.entries(changed).filter(([, value]) => value !== "");
  return {
    ...Object.fromEntries(set.map(([name, value]) => [name, secondsOf(name as Duration, Number(value))])),
    ...(backChannelLogoutUri === undefined ? {} : { backChannelLogoutUri: String(backChannelLogoutUri) }),
  };
}

const secondsOf = (name: Duration, value: number): string => `${Math.round(value * durations[name])}s`;
