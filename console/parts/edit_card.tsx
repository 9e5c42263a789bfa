import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { Button } from "./button.tsx";
import { shownValue, type Version } from "./conflict.tsx";
import type { Draft, Field } from "./field.tsx";
import { Card, Facts } from "./page.tsx";
import { type Edited, VersionForm } from "./version_form.tsx";

type EditCardProps = Edited & {
  readonly title: string;
  /** States beside the title. */
  readonly beside?: ComponentChildren;
  readonly about?: ComponentChildren;
  readonly version: Version;
  readonly mayEdit: boolean;
  readonly actions?: ComponentChildren;
  /** Shown while nobody edits, if not each field with its value. */
  readonly summary?: ComponentChildren;
  /** A preview of the values, shown below them, even while they are edited. */
  readonly preview?: (draft: Draft) => ComponentChildren;
};

/** Shows an object, and edits it in place. */
export function EditCard(given: EditCardProps) {
  const { title, beside, about, fields, version, mayEdit, actions, summary, preview, ...writing } = given;
  const editing = useSignal<Version | undefined>(undefined);
  const written = useSignal<Draft | undefined>(undefined);
  const stop = () => {
    editing.value = undefined;
    written.value = undefined;
  };
  const edit = mayEdit && !editing.value && (
    <Button onClick={() => (editing.value = version)}>{t(partTexts.edit)}</Button>
  );
  return (
    <Card
      title={title}
      beside={beside}
      about={about}
      actions={
        edit || actions ? (
          <>
            {actions}
            {edit}
          </>
        ) : undefined
      }
    >
      {editing.value && (
        <VersionForm
          {...writing}
          fields={fields}
          version={editing.value}
          onEnd={stop}
          onDraft={(draft) => {
            written.value = draft;
          }}
        />
      )}
      {!editing.value && (summary ?? <Facts facts={factsOf(fields, version.values)} />)}
      {preview?.(written.value ?? editing.value?.values ?? version.values)}
    </Card>
  );
}

function factsOf(fields: readonly Field[], values: Draft): readonly (readonly [string, ComponentChildren])[] {
  return fields
    .filter(({ isShown }) => isShown?.(values) ?? true)
    .map((field) => [field.label, shownValue(field, values[field.name] ?? "")]);
}
