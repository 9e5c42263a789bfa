import { signal } from "@preact/signals";
import { Icon } from "./icons.tsx";

const said = signal<readonly { readonly id: number; readonly text: string }[]>([]);
let last = 0;

/** Reports that something was done. */
export function say(text: string): void {
  const id = ++last;
  said.value = [...said.value, { id, text }].slice(-3);
  setTimeout(() => {
    said.value = said.value.filter((one) => one.id !== id);
  }, 4000);
}

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {said.value.map(({ id, text }) => (
        <p key={id}>
          <Icon name="check" />
          {text}
        </p>
      ))}
    </div>
  );
}
