import { useSignal } from "@preact/signals";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { Icon } from "./icons.tsx";

/** Copies a value; the button confirms it for two seconds. */
export function CopyButton({ value, label }: { readonly value: string; readonly label?: string }) {
  const isDone = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(value);
    isDone.value = true;
    setTimeout(() => {
      isDone.value = false;
    }, 2000);
  };
  const said = isDone.value ? t(partTexts.copied) : t(partTexts.copy);
  return (
    <button type="button" class={label ? "button plain" : "copy"} onClick={copy} title={said}>
      <Icon name={isDone.value ? "check" : "copy"} />
      <span class={label ? "" : "said"} aria-live="polite">
        {label && !isDone.value ? label : said}
      </span>
    </button>
  );
}

/** An id, which people copy rather than read. */
export function Id({ children }: { readonly children: string }) {
  return (
    <span class="id">
      <code title={children}>{children}</code>
      <CopyButton value={children} />
    </span>
  );
}
