import { useSignal } from "@preact/signals";
import { newKey } from "../calls/client.ts";
import { Refusal } from "../calls/refusal.ts";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { Conflict, changesOf, type Version, type Versions } from "./conflict.tsx";
import type { Draft, Field } from "./field.tsx";
import { Form, type Submission } from "./form.tsx";
import { say } from "./toasts.tsx";

export type Save = {
  /** All new values. */
  readonly draft: Draft;
  /** The new values that differ. */
  readonly changed: Draft;
  readonly expectedSequence: string;
  readonly key: string;
};

/** An object being edited: its fields, and how it is read and written. */
export type Edited = {
  readonly fields: readonly Field[];
  /** Reads the current object. */
  readonly read: () => Promise<Version>;
  readonly save: (save: Save) => Promise<unknown>;
  readonly onSaved: () => unknown;
};

type VersionFormProps = Edited & {
  readonly version: Version;
  readonly onEnd: () => void;
  readonly onDraft?: (draft: Draft) => void;
};

/**
 * Edits a version of an object. If somebody else changed these fields meanwhile, both versions are shown field by field; if only the rest
 * of the object changed, the fields are written at the current version.
 */
export function VersionForm({ fields, version, read, save, onSaved, onEnd, onDraft }: VersionFormProps) {
  const conflict = useSignal<Versions | undefined>(undefined);
  const saveAt = async ({ values, sequence }: Version, { draft, key }: Submission) => {
    const changed = changesOf(values, draft);
    if (Object.keys(changed).length > 0) await save({ draft, changed, expectedSequence: sequence, key });
  };
  const write = async (base: Version, { draft, key }: Submission) => {
    const mine = withoutEmptyLines(draft);
    try {
      await saveAt(base, { draft: mine, key });
    } catch (error) {
      if (!(error instanceof Refusal) || error.reason !== "CONFLICT") throw error;
      const theirs = await read();
      if (Object.keys(changesOf(base.values, theirs.values)).length > 0) {
        conflict.value = { base, mine, theirs };
        return;
      }
      await saveAt(theirs, { draft: mine, key: newKey() });
    }
    onEnd();
    say(t(partTexts.saved));
    await onSaved();
  };
  return conflict.value ? (
    <Conflict
      fields={fields}
      versions={conflict.value}
      onCancel={onEnd}
      onSubmit={(draft, key) => write(conflict.value?.theirs ?? version, { draft, key })}
    />
  ) : (
    <Form
      fields={fields}
      values={version.values}
      submitText={t(partTexts.save)}
      onSubmit={(submission) => write(version, submission)}
      onCancel={onEnd}
      {...(onDraft ? { onDraft } : {})}
    />
  );
}

const withoutEmptyLines = (draft: Draft): Draft =>
  Object.fromEntries(
    Object.entries(draft).map(([name, value]) => [
      name,
      typeof value === "object" ? value.map((one) => one.trim()).filter(Boolean) : value,
    ]),
  );
