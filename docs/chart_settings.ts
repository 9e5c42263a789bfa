import { settings } from "../src/config/config.ts";

const stopTimes = ["SHUTDOWN_DELAY_MS", "SHUTDOWN_GRACE_MS", "MAIL_TIMEOUT_MS", "SMS_TIMEOUT_MS"];

/** Templates of the chart with what it knows of settings: their names, and the defaults of those that make up the time of a stop. */
export function chartSettings(): string {
  const names = settings.map(({ name }) => name).join(" ");
  const times = Object.fromEntries(
    settings.filter(({ name }) => stopTimes.includes(name)).map(({ name, default: usual }) => [name, Number(usual)]),
  );
  return `{{- /* Made of src/config/config.ts by npm run generate. */ -}}
{{- define "postern.settingNames" -}}${names}{{- end }}
{{- define "postern.stopTimes" -}}${JSON.stringify(times)}{{- end }}
`;
}
