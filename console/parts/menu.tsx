import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { Icon } from "./icons.tsx";

/** The acts on a row, behind one button. Hidden ones stay in the page: a dialog may be open in them. */
export function Menu({ children }: { readonly children: ComponentChildren }) {
  const id = useId();
  const menu = useRef<HTMLDivElement>(null);
  const isOpen = useSignal(false);
  useEffect(() => {
    if (!isOpen.value) return undefined;
    const onOther = ({ target }: Event) => {
      if (target instanceof Node && !menu.current?.contains(target)) isOpen.value = false;
    };
    const onKey = ({ key }: KeyboardEvent) => {
      if (key !== "Escape") return;
      isOpen.value = false;
      menu.current?.querySelector("button")?.focus();
    };
    document.addEventListener("pointerdown", onOther);
    document.addEventListener("focusin", onOther);
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("pointerdown", onOther);
      document.removeEventListener("focusin", onOther);
      document.removeEventListener("keydown", onKey);
    };
  }, [isOpen.value]);
  const toggle = () => {
    isOpen.value = !isOpen.value;
  };
  return (
    <div ref={menu} class="menu">
      <button type="button" class="copy" aria-expanded={isOpen.value} aria-controls={id} onClick={toggle}>
        <Icon name="dots" />
        <span class="said">{t(partTexts.acts)}</span>
      </button>
      <div id={id} class={isOpen.value ? "open" : ""}>
        {children}
      </div>
    </div>
  );
}
