import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { newKey } from "../calls/client.ts";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { Button } from "./button.tsx";
import type { Draft, Field, Value } from "./field.tsx";
import { useWriting } from "./form.tsx";
import { Trouble } from "./trouble.tsx";

/** The values of an object, at a version of it. */
export type Version = { readonly values: Draft; readonly sequence: string };

/** An object as it was at the start of the edit, as edited here, and as somebody else changed it meanwhile. */
export type Versions = { readonly base: Version; readonly mine: Draft; readonly theirs: Version };

type ConflictProps = {
  readonly fields: readonly Field[];
  readonly versions: Versions;
  readonly onSubmit: (draft: Draft, key: string) => Promise<unknown>;
  readonly onCancel: () => void;
};

/** Both versions, field by field. A change by only one side is taken; if both changed a field, the user chooses. */
export function Conflict({ fields, versions: { base, mine, theirs }, onSubmit, onCancel }: ConflictProps) {
  const chosen = useSignal<Readonly<Record<string, "mine" | "theirs">>>({});
  const writing = useWriting();
  const [myChanges, theirChanges] = [changesOf(base.values, mine), changesOf(base.values, theirs.values)];
  const changed = fields.filter(({ name }) => name in myChanges || name in theirChanges);
  const isOpen = ({ name }: Field) =>
    name in myChanges && name in theirChanges && name in changesOf(theirs.values, mine);
  const sideOf = (field: Field) => chosen.value[field.name] ?? (field.name in myChanges ? "mine" : "theirs");
  const choose = ({ name }: Field, side: "mine" | "theirs") => {
    chosen.value = { ...chosen.value, [name]: side };
  };
  const submit = () => {
    const merged = Object.fromEntries(
      fields.map((field) => [field.name, (sideOf(field) === "mine" ? mine : theirs.values)[field.name] ?? ""]),
    );
    return writing.write(merged, (key) => onSubmit(merged, key ?? newKey()));
  };
  return (
    <fieldset class="conflict" aria-label={t(partTexts.conflict)}>
      <p role="alert">{t(partTexts.conflict)}</p>
      {writing.refusal && <Trouble refusal={writing.refusal} />}
      <table>
        <thead>
          <tr>
            <th scope="col">{t(partTexts.field)}</th>
            <th scope="col">{t(partTexts.mine)}</th>
            <th scope="col">{t(partTexts.theirs)}</th>
          </tr>
        </thead>
        <tbody>
          {changed.map((field) => (
            <tr key={field.name}>
              <th scope="row">{field.label}</th>
              {(["mine", "theirs"] as const).map((side) => (
                <td key={side} class={sideOf(field) === side ? "taken" : ""}>
                  <Side
                    value={shownValue(field, (side === "mine" ? mine : theirs.values)[field.name] ?? "")}
                    choose={isOpen(field) ? () => choose(field, side) : undefined}
                    isChosen={sideOf(field) === side}
                    name={`conflict-${field.name}`}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <div class="form-acts">
        <Button kind="main" onClick={submit} isBusy={writing.isBusy}>
          {t(partTexts.saveChosen)}
        </Button>
        <Button onClick={onCancel}>{t(partTexts.cancel)}</Button>
      </div>
    </fieldset>
  );
}

type SideProps = {
  readonly value: ComponentChildren;
  /** Absent if only one side changed the field, so that there is nothing to choose. */
  readonly choose: (() => void) | undefined;
  readonly isChosen: boolean;
  readonly name: string;
};

function Side({ value, choose, isChosen, name }: SideProps) {
  if (!choose) return <>{value || "–"}</>;
  return (
    <label class="check">
      <input type="radio" name={name} checked={isChosen} onChange={choose} />
      <span>{value || "–"}</span>
    </label>
  );
}

/** A value as people read it. */
export function shownValue(field: Field, value: Value): ComponentChildren {
  if (field.shown) return field.shown(value);
  if (typeof value === "boolean") return t(value ? partTexts.yes : partTexts.no);
  const labelOf = (one: string) => field.options?.find((option) => option.value === one)?.label ?? one;
  if (typeof value === "string") return labelOf(value);
  if (value.length === 0) return "";
  return (
    <ul class="lines">
      {value.map((one) => (
        <li key={one}>{labelOf(one)}</li>
      ))}
    </ul>
  );
}

export function changesOf(before: Draft, after: Draft): Draft {
  const isOther = ([name, value]: [string, Value]) => JSON.stringify(value) !== JSON.stringify(before[name]);
  return Object.fromEntries(Object.entries(after).filter(isOther));
}
