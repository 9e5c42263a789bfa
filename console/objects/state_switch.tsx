import type { ComponentProps } from "preact";
import { Ask } from "../parts/ask.tsx";
import { objectTexts } from "../texts/objects.ts";
import { type Text, t } from "../texts/text.ts";

type StateSwitchProps = {
  readonly isInactive: boolean;
  /** The consequences, in words. */
  readonly about: { readonly deactivate: Text; readonly reactivate: Text };
  readonly switchTo: (state: "Deactivate" | "Reactivate") => ComponentProps<typeof Ask>["act"];
};

/** Deactivates an object, or reactivates an inactive one, after a confirmation. */
export const StateSwitch = ({ isInactive, about, switchTo }: StateSwitchProps) =>
  isInactive ? (
    <Ask text={t(objectTexts.reactivate)} about={t(about.reactivate)} act={switchTo("Reactivate")} />
  ) : (
    <Ask text={t(objectTexts.deactivate)} about={t(about.deactivate)} act={switchTo("Deactivate")} />
  );
