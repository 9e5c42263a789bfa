import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icons.tsx";

type Looks = {
  readonly icon?: IconName | undefined;
  /** The main act of the page, an act that takes something away, or one of several. */
  readonly kind?: "main" | "danger" | "plain" | "bare" | undefined;
  readonly children: ComponentChildren;
};

type ButtonProps = Looks & {
  readonly onClick?: (() => unknown) | undefined;
  readonly type?: "button" | "submit";
  readonly isBusy?: boolean | undefined;
  readonly disabled?: boolean | undefined;
  readonly id?: string;
  readonly title?: string | undefined;
};

export function Button({ icon, kind = "plain", children, isBusy, disabled, type = "button", ...others }: ButtonProps) {
  return (
    <button {...others} type={type} class={`button ${kind}`} disabled={disabled} aria-busy={isBusy || undefined}>
      {icon && <Icon name={icon} />}
      <span>{children}</span>
    </button>
  );
}

export function LinkButton({ icon, kind = "plain", children, href }: Looks & { readonly href: string }) {
  return (
    <a class={`button ${kind}`} href={href}>
      {icon && <Icon name={icon} />}
      <span>{children}</span>
    </a>
  );
}
