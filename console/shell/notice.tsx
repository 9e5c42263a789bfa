import type { ComponentChildren } from "preact";
import { Mark } from "./mark.tsx";

type NoticeProps = { readonly title: string; readonly about?: string; readonly children?: ComponentChildren };

/** A page with only a sentence and what to do. */
export function Notice({ title, about, children }: NoticeProps) {
  return (
    <main class="notice">
      <Mark />
      <h1>{title}</h1>
      {about && <p>{about}</p>}
      {children}
    </main>
  );
}
