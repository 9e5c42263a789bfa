import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";

/** A choice of a picker. */
export type Choice = {
  readonly id: string;
  readonly text: string;
  readonly more?: string;
  readonly icon?: ComponentChildren;
};

type PickerProps = {
  readonly id: string;
  readonly describedBy?: string | undefined;
  readonly isInvalid?: boolean;
  readonly placeholder?: string;
  /** The name of the field, if it has no label. */
  readonly label?: string;
  readonly isFirst?: boolean;
  readonly find: (text: string, signal: AbortSignal) => Promise<readonly Choice[]>;
  /** The current choice. */
  readonly picked?: Choice | undefined;
  readonly onPick: (choice: Choice) => void;
  /** Whether the choices stay open below, as in a dialog with nothing else. */
  readonly isOpen?: boolean;
};

/** A field that searches as the user types; the arrow keys go through the results. */
export function Picker({
  id,
  describedBy,
  isInvalid,
  placeholder,
  label,
  isFirst,
  find,
  picked,
  onPick,
  isOpen = false,
}: PickerProps) {
  const text = useSignal(picked?.text ?? "");
  const found = useSignal<readonly Choice[] | undefined>(undefined);
  const at = useSignal(0);
  const isShown = useSignal(isOpen);
  useEffect(() => {
    if (!isShown.value) return undefined;
    const leaving = new AbortController();
    const timer = setTimeout(
      () =>
        void find(text.value.trim(), leaving.signal).then(
          (choices) => {
            found.value = choices;
            at.value = 0;
          },
          () => {
            if (!leaving.signal.aborted) found.value = [];
          },
        ),
      text.value ? 200 : 0,
    );
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [text.value, isShown.value]);
  const pick = (choice: Choice | undefined) => {
    if (!choice) return;
    text.value = choice.text;
    isShown.value = isOpen;
    onPick(choice);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { length } = found.value ?? [];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      isShown.value = true;
      at.value = (at.value + (event.key === "ArrowDown" ? 1 : -1) + length) % Math.max(length, 1);
    } else if (event.key === "Enter" && isShown.value) {
      event.preventDefault();
      pick(found.value?.[at.value]);
    } else if (event.key === "Escape" && isShown.value && !isOpen) {
      event.preventDefault();
      event.stopPropagation();
      isShown.value = false;
    }
  };
  return (
    <div class="picker">
      <input
        id={id}
        type="text"
        role="combobox"
        // biome-ignore lint/a11y/noAutofocus: a dialog that is opened to find something begins there
        autoFocus={isFirst}
        autocomplete="off"
        spellcheck={false}
        placeholder={placeholder}
        aria-label={label}
        aria-expanded={isShown.value}
        aria-controls={`${id}-found`}
        aria-autocomplete="list"
        aria-activedescendant={isShown.value && found.value?.[at.value] ? `${id}-${at.value}` : undefined}
        aria-describedby={describedBy}
        aria-invalid={isInvalid || undefined}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          isShown.value = true;
        }}
        onFocus={() => {
          isShown.value = true;
        }}
        onBlur={() => {
          isShown.value = isOpen;
        }}
        onKeyDown={onKeyDown}
      />
      <Found id={id} isShown={isShown.value} found={found.value} at={at.value} onPick={pick} />
    </div>
  );
}

type FoundProps = {
  readonly id: string;
  readonly isShown: boolean;
  readonly found: readonly Choice[] | undefined;
  readonly at: number;
  readonly onPick: (choice: Choice) => void;
};

function Found({ id, isShown, found, at, onPick }: FoundProps) {
  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at, found]);
  return (
    <div class="found" hidden={!isShown || !found}>
      <div role="listbox" id={`${id}-found`} aria-label={t(partTexts.results)}>
        {(found ?? []).map((choice, index) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus, as a combobox does
          <div
            key={choice.id}
            id={`${id}-${index}`}
            role="option"
            class="option"
            aria-selected={index === at}
            // Runs before the field loses the focus.
            onMouseDown={(event) => {
              event.preventDefault();
              onPick(choice);
            }}
          >
            {choice.icon}
            <div>
              {choice.text}
              {choice.more && <small>{choice.more}</small>}
            </div>
          </div>
        ))}
      </div>
      {found?.length === 0 && <p class="quiet option">{t(partTexts.noMatch)}</p>}
    </div>
  );
}
