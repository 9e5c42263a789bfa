import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";

export type Value = string | boolean | readonly string[];
export type Draft = Readonly<Record<string, Value>>;

export type Option = { readonly value: string; readonly label: string; readonly help?: string };

/** A field of a form, by its name in the request. */
export type Field = {
  readonly name: string;
  readonly label: string;
  /** `lines` is a list with an item on each line; `checks` a list of options. */
  readonly kind?:
    | "text"
    | "email"
    | "tel"
    | "password"
    | "number"
    | "date"
    | "switch"
    | "choice"
    | "cards"
    | "checks"
    | "lines"
    | "area";
  readonly help?: ComponentChildren;
  readonly options?: readonly Option[];
  readonly isOptional?: boolean;
  readonly autoComplete?: string;
  /** The user whose password it is, for password managers. */
  readonly ofUser?: string;
  /** Whether the field applies, given the others. */
  readonly isShown?: (draft: Draft) => boolean;
  /** A control of its own, instead of the one for its kind. */
  readonly control?: (given: Control) => ComponentChildren;
  /** Renders the value while nobody edits it. */
  readonly shown?: (value: Value) => ComponentChildren;
};

export type Control = {
  readonly id: string;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly describedBy: string | undefined;
  readonly isInvalid: boolean;
};

type FieldViewProps = {
  readonly field: Field;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly violation: string | undefined;
};

/** A field with its label, its help and, if the server refused it, the reason. */
export function FieldView({ field, value, onChange, violation }: FieldViewProps) {
  const id = useId();
  const described = [field.help ? `${id}-help` : "", violation ? `${id}-why` : ""].join(" ").trim() || undefined;
  const control = { id, value, onChange, describedBy: described, isInvalid: violation !== undefined };
  const isGroup = field.kind === "checks" || field.kind === "cards";
  const notes = (
    <>
      {field.help && (
        <p id={`${id}-help`} class="help">
          {field.help}
        </p>
      )}
      {violation && (
        <p id={`${id}-why`} class="help bad">
          {violation}
        </p>
      )}
    </>
  );
  if (field.kind === "switch") return <Switch {...control} label={field.label} notes={notes} />;
  const label = (
    <>
      {field.label}
      {field.isOptional && <span class="quiet"> {t(partTexts.optional)}</span>}
    </>
  );
  if (isGroup)
    return (
      <fieldset class="field" aria-describedby={described}>
        <legend>{label}</legend>
        <Options {...control} field={field} />
        {notes}
      </fieldset>
    );
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {field.control ? field.control(control) : <Input {...control} field={field} />}
      {notes}
    </div>
  );
}

function Switch({
  id,
  value,
  onChange,
  describedBy,
  isInvalid,
  label,
  notes,
}: Control & { label: string; notes: ComponentChildren }) {
  return (
    <div class="field switch">
      <input
        id={id}
        type="checkbox"
        role="switch"
        aria-checked={value === true}
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
        aria-describedby={describedBy}
        aria-invalid={isInvalid || undefined}
      />
      <div>
        <label for={id}>{label}</label>
        {notes}
      </div>
    </div>
  );
}

function Input({ id, value, onChange, describedBy, isInvalid, field }: Control & { readonly field: Field }) {
  const { kind = "text", options = [], autoComplete = "off" } = field;
  const about = { id, name: field.name, "aria-describedby": describedBy, "aria-invalid": isInvalid || undefined };
  if (kind === "choice")
    return (
      <select {...about} value={String(value)} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((one) => (
          <option key={one.value} value={one.value}>
            {one.label}
          </option>
        ))}
      </select>
    );
  if (kind === "lines" || kind === "area") {
    const text = typeof value === "object" ? value.join("\n") : String(value);
    const rows = Math.min(8, Math.max(kind === "lines" ? 2 : 3, text.split("\n").length));
    const read = (written: string) => onChange(kind === "lines" ? written.split("\n") : written);
    return (
      <textarea
        {...about}
        rows={rows}
        spellcheck={false}
        value={text}
        onInput={(event) => read(event.currentTarget.value)}
      />
    );
  }
  return (
    <>
      {field.ofUser && <input type="text" autocomplete="username" value={field.ofUser} hidden readOnly />}
      <input
        {...about}
        type={kind as "text"}
        value={String(value)}
        autocomplete={autoComplete}
        spellcheck={false}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </>
  );
}

/** Several of the options, or one of them on cards. */
function Options({ id, value, onChange, field }: Control & { readonly field: Field }) {
  const { options = [], kind } = field;
  const chosen = typeof value === "object" ? value : [String(value)];
  const choose = (one: string, isOn: boolean) =>
    onChange(kind === "cards" ? one : isOn ? [...chosen, one] : chosen.filter((other) => other !== one));
  return (
    <div class={kind === "cards" ? "choice-cards" : "checks"}>
      {options.map((one) => (
        <label key={one.value} class={kind === "cards" ? "choice-card" : "check"}>
          <input
            type={kind === "cards" ? "radio" : "checkbox"}
            name={id}
            checked={chosen.includes(one.value)}
            onChange={(event) => choose(one.value, event.currentTarget.checked)}
          />
          <span>
            <b>{one.label}</b>
            {one.help && <small>{one.help}</small>}
          </span>
        </label>
      ))}
      {options.length === 0 && <p class="quiet">{t(partTexts.none)}</p>}
    </div>
  );
}
