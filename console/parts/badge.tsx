import { stateTexts } from "../texts/states.ts";
import { t } from "../texts/text.ts";

const tones = {
  ACTIVE: "good",
  INACTIVE: "off",
  LOCKED: "bad",
  PENDING: "warn",
  EXPIRED: "off",
} as const;

/** The state of an object, as the contract names it: USER_STATE_ACTIVE. */
export function StateBadge({ state }: { readonly state: string | undefined }) {
  const name = state?.replace(/^.*_STATE_/, "") as keyof typeof tones | undefined;
  return name && tones[name] ? <Badge tone={tones[name]}>{t(stateTexts[name])}</Badge> : null;
}

/** Keys of roles are long, and a line of them breaks best after their dots and underscores. */
const breaking = (text: string) =>
  text.split(/(?<=[._])(?=.)/).flatMap((part, at) => (at === 0 ? [part] : [<wbr />, part]));

export type Tone = "good" | "off" | "bad" | "warn" | "plain";

export function Badge({ tone = "plain", children }: { readonly tone?: Tone; readonly children: string }) {
  return <span class={`badge ${tone}`}>{tone === "plain" ? breaking(children) : children}</span>;
}
