import { language } from "../texts/text.ts";

const steps = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

/** The time relative to now, with the exact time on hover. */
export function Time({ at, exact = false }: { readonly at: string; readonly exact?: boolean }) {
  const date = new Date(at);
  const full = new Intl.DateTimeFormat(language.value, { dateStyle: "medium", timeStyle: "medium" }).format(date);
  return (
    <time dateTime={at} title={full}>
      {exact ? full : relative(date)}
    </time>
  );
}

function relative(date: Date): string {
  const seconds = (date.getTime() - Date.now()) / 1000;
  const format = new Intl.RelativeTimeFormat(language.value, { numeric: "auto" });
  const step = steps.find(([, size]) => Math.abs(seconds) >= size);
  return step ? format.format(Math.trunc(seconds / step[1]), step[0]) : format.format(0, "second");
}
