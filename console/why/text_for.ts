import { type Text, type Texts, t } from "../texts/text.ts";

/** A name of the contract without its prefix, as in our texts. */
export function textFor(texts: Texts, name: string | undefined, beginning: string): string {
  const key = (name ?? "").replace(beginning, "");
  const found: Text | undefined = texts[key];
  return found === undefined ? "" : t(found);
}
