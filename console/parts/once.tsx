import type { Signal } from "@preact/signals";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy.tsx";
import { Dialog } from "./dialog.tsx";

type OnceProps = {
  readonly title: string;
  readonly about: string;
  /** The secret; the dialog is open while there is one, and closing it forgets the secret. */
  readonly secret: Signal<string | undefined>;
  readonly onClose?: () => void;
};

/** Shows a secret once. Only the button closes it, and then the secret is gone from the page. */
export function Once({ title, about, secret, onClose }: OnceProps) {
  const { value } = secret;
  if (value === undefined) return null;
  const close = () => {
    secret.value = undefined;
    onClose?.();
  };
  return (
    <Dialog title={title} onClose={close} isFirm>
      <p>{about}</p>
      <div class="once">
        <code>{value}</code>
        <CopyButton value={value} label={t(partTexts.copy)} />
      </div>
      <Button kind="main" onClick={close}>
        {t(partTexts.kept)}
      </Button>
    </Dialog>
  );
}
