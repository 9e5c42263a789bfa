import { effect } from "@preact/signals";
import { render } from "preact";
import { outdated } from "./calls/connection.ts";
import { persistently } from "./calls/lazy.ts";
import { Console } from "./shell/console.tsx";
import { Unreadable } from "./shell/unreadable.tsx";
import { begin } from "./sign_in/sign_in.ts";
import { language, loadWords } from "./texts/text.ts";

effect(() => {
  document.documentElement.lang = language.value;
});
// Without its words the frame could not say that anything is missing.
const stopWaiting = effect(() => {
  if (outdated.value) render(<Unreadable />, document.body);
});
await persistently(() => loadWords(language.value));
stopWaiting();
render(<Console />, document.body);
void begin();
