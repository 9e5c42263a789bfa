import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { newKey } from "../calls/client.ts";
import { Refusal, type Violation } from "../calls/refusal.ts";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { Button } from "./button.tsx";
import { type Draft, type Field, FieldView, type Value } from "./field.tsx";
import { Trouble } from "./trouble.tsx";

/** The result of a form: the values written, and the key of this act, which stays the same if it is repeated unchanged. */
export type Submission = { readonly draft: Draft; readonly key: string };

/** The fields, which may depend on the draft. */
export type Fields = readonly Field[] | ((draft: Draft) => readonly Field[]);

type FormProps = {
  readonly fields: Fields;
  readonly values: Draft;
  readonly submitText: string;
  readonly onSubmit: (submission: Submission) => Promise<unknown>;
  readonly onCancel?: (() => void) | undefined;
  /** Finds a violation before anything is sent. */
  readonly check?: ((draft: Draft) => Violation | undefined) | undefined;
  readonly onDraft?: (draft: Draft) => void;
  readonly isDangerous?: boolean;
  readonly children?: ComponentChildren;
};

/** One pattern for all forms: the server validates, and its reasons appear beside the fields. */
export function Form({
  fields,
  values,
  submitText,
  onSubmit,
  onCancel,
  onDraft,
  check,
  isDangerous,
  children,
}: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const draft = useSignal<Draft>(values);
  const writing = useWriting();
  const all = typeof fields === "function" ? fields(draft.value) : fields;
  const shown = all.filter(({ isShown }) => isShown?.(draft.value) ?? true);
  const own = useSignal<Violation | undefined>(undefined);
  const violations = own.value ? [own.value] : (writing.refusal?.violations ?? []);
  const change = (name: string, value: Value) => {
    draft.value = { ...draft.value, [name]: value };
    onDraft?.(draft.value);
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    own.value = check?.(draft.value);
    const isDone = !own.value && (await writing.write(draft.value, (key) => onSubmit({ draft: draft.value, key })));
    if (!isDone) requestAnimationFrame(() => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
  };
  return (
    <form ref={form} class="form" onSubmit={submit} noValidate>
      {writing.refusal && !own.value && !isAllShown(violations, shown) && <Trouble refusal={writing.refusal} />}
      {shown.map((field) => (
        <FieldView
          key={field.name}
          field={field}
          value={draft.value[field.name] ?? ""}
          onChange={(value) => change(field.name, value)}
          violation={violations.find((one) => isAbout(one, field))?.text}
        />
      ))}
      {children}
      <div class="form-acts">
        <Button type="submit" kind={isDangerous ? "danger" : "main"} isBusy={writing.isBusy}>
          {submitText}
        </Button>
        {onCancel && <Button onClick={onCancel}>{t(partTexts.cancel)}</Button>}
      </div>
    </form>
  );
}

const isAllShown = (violations: readonly Violation[], fields: readonly Field[]): boolean =>
  violations.length > 0 && violations.every((one) => fields.some((field) => isAbout(one, field)));

/** A violation names a field by its path: `human.givenName`, `redirectUris[1]`. */
function isAbout({ field: path }: Violation, { name }: Field): boolean {
  const plain = path.replace(/\[.*?\]/g, "");
  return plain === name || plain.endsWith(`.${name}`) || plain.startsWith(`${name}.`);
}

/** An act that writes: one at a time, and with the same key for as long as it is the same act. */
export function useWriting() {
  const state = useSignal<{ isBusy: boolean; refusal?: Refusal }>({ isBusy: false });
  const last = useRef<{ about: string; key: string } | undefined>(undefined);
  const write = async (about: unknown, act: (key: string) => Promise<unknown>): Promise<boolean> => {
    if (state.peek().isBusy) return false;
    const text = JSON.stringify(about);
    if (last.current?.about !== text) last.current = { about: text, key: newKey() };
    state.value = { isBusy: true };
    try {
      await act(last.current.key);
      last.current = undefined;
      state.value = { isBusy: false };
      return true;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // Nothing was changed, except perhaps if there was no response.
      if (error.status > 0 && error.status < 500) last.current = undefined;
      state.value = { isBusy: false, refusal: error };
      return false;
    }
  };
  return { ...state.value, write };
}
