import { Button } from "../parts/button.tsx";
import type { Control, Value } from "../parts/field.tsx";
import { brandingTexts } from "../texts/branding.ts";
import { objectTexts } from "../texts/objects.ts";
import { t } from "../texts/text.ts";
import { isColor } from "./colors.ts";

/** A colour, to type or to pick. */
export const colorControl =
  (otherwise: string) =>
  ({ id, value, onChange, describedBy, isInvalid }: Control) => (
    <div class="color">
      <input
        type="color"
        aria-label={t(brandingTexts.pick)}
        value={isColor(value) ? value : otherwise}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <input
        id={id}
        type="text"
        spellcheck={false}
        autocomplete="off"
        placeholder={otherwise}
        aria-describedby={describedBy}
        aria-invalid={isInvalid || undefined}
        value={String(value)}
        onInput={(event) => onChange(event.currentTarget.value.trim())}
      />
    </div>
  );

/** A colour with its name. */
export const shownColor = (value: Value) =>
  value === "" ? (
    <span class="quiet">{t(brandingTexts.standard)}</span>
  ) : (
    <span class="color">
      <i class="swatch" style={{ background: String(value) }} />
      <code>{value}</code>
    </span>
  );

/** An image: the path of the stored one, the data of a new one, or nothing. */
export function ImageControl({ id, value, onChange, describedBy, isInvalid }: Control) {
  const choose = (file: File | undefined) => {
    if (!file) return;
    const reader = new FileReader();
    reader.onload = () => onChange(String(reader.result));
    reader.readAsDataURL(file);
  };
  return (
    <div class="image">
      {value !== "" && shownImage(value)}
      <input
        id={id}
        type="file"
        accept="image/png,image/jpeg,image/webp"
        aria-describedby={describedBy}
        aria-invalid={isInvalid || undefined}
        onChange={(event) => choose(event.currentTarget.files?.[0])}
      />
      {value !== "" && <Button onClick={() => onChange("")}>{t(objectTexts.remove)}</Button>}
    </div>
  );
}

export const shownImage = (value: Value) =>
  value === "" ? "" : <img class="brand-image" src={String(value)} alt="" />;
