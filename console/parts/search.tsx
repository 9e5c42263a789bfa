import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icons.tsx";

type SearchProps = {
  /** The text to search for, set when the user pauses. */
  readonly value: Signal<string>;
  readonly label: string;
  /** Whether it is the main part of the page. */
  readonly isFirst?: boolean;
};

/** A field that searches as the user types. */
export function Search({ value, label, isFirst = false }: SearchProps) {
  const written = useSignal(value.peek());
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isFirst) input.current?.focus();
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => {
      value.value = written.value.trim();
    }, 250);
    return () => clearTimeout(timer);
  }, [written.value]);
  return (
    <label class="search">
      <Icon name="search" />
      <span class="said">{label}</span>
      <input
        ref={input}
        type="search"
        placeholder={label}
        value={written.value}
        spellcheck={false}
        onInput={(event) => (written.value = event.currentTarget.value)}
      />
    </label>
  );
}
