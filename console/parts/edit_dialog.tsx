import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { Button } from "./button.tsx";
import type { Version } from "./conflict.tsx";
import { Dialog } from "./dialog.tsx";
import { type Edited, VersionForm } from "./version_form.tsx";

type EditDialogProps = Edited & {
  /** The button that opens the dialog. */
  readonly text?: string;
  readonly title: string;
  readonly about?: ComponentChildren;
  readonly version: Version;
  readonly id?: string;
};

/** A button that opens an object, or a part of it, to be edited in a dialog. */
export function EditDialog({ text = t(partTexts.edit), title, about, version, id, ...edited }: EditDialogProps) {
  // The version at the start of the edit stays, even if the page behind reads a newer one.
  const editing = useSignal<Version | undefined>(undefined);
  const end = () => {
    editing.value = undefined;
  };
  return (
    <>
      <Button onClick={() => (editing.value = version)} {...(id ? { id } : {})}>
        {text}
      </Button>
      {editing.value && (
        <Dialog title={title} onClose={end}>
          {about && <div class="dialog-about">{about}</div>}
          <VersionForm {...edited} version={editing.value} onEnd={end} />
        </Dialog>
      )}
    </>
  );
}
