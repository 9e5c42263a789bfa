import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Violation } from "../calls/refusal.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import type { Draft } from "./field.tsx";
import { type Fields, Form, type Submission } from "./form.tsx";
import type { IconName } from "./icons.tsx";

type AskProps = {
  /** The text of the button that opens the dialog, and by default the dialog's title. */
  readonly text: string;
  readonly title?: string;
  readonly submitText?: string;
  readonly icon?: IconName;
  readonly kind?: "main" | "danger" | "plain" | "bare";
  readonly about?: ComponentChildren;
  readonly fields?: Fields;
  readonly values?: Draft;
  /** Performs the act; the dialog closes unless this throws or returns the next content to show. */
  readonly act: (submission: Submission) => Promise<unknown>;
  /** Finds a violation before anything is sent. */
  readonly check?: (draft: Draft) => Violation | undefined;
  readonly id?: string;
  /** Whether the page was opened for this. */
  readonly isOpenAtFirst?: boolean | undefined;
};

/** A button whose act first asks for fields, or only for confirmation. */
export function Ask({
  text,
  title = text,
  submitText = text,
  icon,
  kind,
  about,
  fields = [],
  values = {},
  act,
  check,
  id,
  isOpenAtFirst = false,
}: AskProps) {
  const isOpen = useSignal(isOpenAtFirst);
  // Also if the open page is asked for it.
  useEffect(() => {
    if (isOpenAtFirst) isOpen.value = true;
  }, [isOpenAtFirst]);
  const close = () => (isOpen.value = false);
  const submit = async (submission: Submission) => {
    await act(submission);
    close();
  };
  return (
    <>
      <Button icon={icon} kind={kind} onClick={() => (isOpen.value = true)} {...(id ? { id } : {})}>
        {text}
      </Button>
      {isOpen.value && (
        <Dialog title={title} onClose={close}>
          {about && <div class="dialog-about">{about}</div>}
          <Form
            fields={fields}
            values={values}
            submitText={submitText}
            onSubmit={submit}
            check={check}
            onCancel={close}
            isDangerous={kind === "danger"}
          />
        </Dialog>
      )}
    </>
  );
}
