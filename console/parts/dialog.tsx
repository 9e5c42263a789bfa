import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { Icon } from "./icons.tsx";

type DialogProps = {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  /** Whether only its buttons close it, because its content is shown only once. */
  readonly isFirm?: boolean;
  readonly class?: string;
};

/** A dialog above the page; the browser keeps the focus in it, and gives it back. */
export function Dialog({ title, onClose, children, isFirm = false, class: more = "" }: DialogProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    // Focuses the first field; in a dialog without fields, the last button, which changes nothing.
    const fields = dialog.current?.querySelectorAll<HTMLElement>(
      "form :is(input:not([hidden]), select, textarea), .search input",
    );
    const buttons = dialog.current?.querySelectorAll<HTMLElement>(".form-acts button, .once button");
    (fields?.[0] ?? [...(buttons ?? [])].at(-1))?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const onCancel = (event: Event) => {
    event.preventDefault();
    if (!isFirm) onClose();
  };
  return (
    <dialog ref={dialog} class={`dialog ${more}`} aria-labelledby={id} onCancel={onCancel}>
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        {!isFirm && (
          <button type="button" class="copy" onClick={onClose} title={t(partTexts.close)}>
            <Icon name="close" />
            <span class="said">{t(partTexts.close)}</span>
          </button>
        )}
      </div>
      {children}
    </dialog>
  );
}
