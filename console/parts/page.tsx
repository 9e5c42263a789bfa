import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { Reading } from "../calls/use_call.ts";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { Trouble } from "./trouble.tsx";

type HeaderProps = {
  readonly title: string;
  /** The pages that contain this one, the outermost first. */
  readonly path?: readonly { readonly text: string; readonly href: string }[];
  /** States beside the title. */
  readonly beside?: ComponentChildren;
  /** The ids of the object, below the title. */
  readonly below?: ComponentChildren;
  readonly actions?: ComponentChildren;
};

/** The head of a page, where screen readers begin on a new page. */
export function PageHeader({ title, path = [], beside, below, actions }: HeaderProps) {
  useEffect(() => {
    document.title = `${title} – Postern`;
  }, [title]);
  return (
    <header class="page-header">
      {path.length > 0 && (
        <nav class="crumbs" aria-label={t(partTexts.path)}>
          {path.map(({ text, href }) => (
            <a key={href} href={href}>
              {text}
            </a>
          ))}
        </nav>
      )}
      <div class="page-title">
        <div>
          <h1 tabIndex={-1}>{title}</h1>
          {beside}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </div>
      {below && <div class="page-below">{below}</div>}
    </header>
  );
}

/** The parts of an object, each with its own address. */
export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  const { path } = useLocation();
  const nav = useRef<HTMLElement>(null);
  // On a telephone, the tab of the opened address may lie beyond the edge.
  useEffect(
    () => nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }),
    [path],
  );
  return (
    <nav ref={nav} class="tabs" aria-label={label}>
      {tabs.map(({ text, href }) => (
        <a
          key={href}
          href={href}
          aria-current={decodeURI(href.split("?")[0] ?? "") === decodeURI(path) ? "page" : undefined}
        >
          {text}
        </a>
      ))}
    </nav>
  );
}

export type Tab = { readonly text: string; readonly href: string };

type CardProps = {
  readonly title?: string;
  /** States beside the title. */
  readonly beside?: ComponentChildren;
  readonly about?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children?: ComponentChildren;
  readonly class?: string;
};

/** One aspect of an object. */
export function Card({ title, beside, about, actions, children, class: more = "" }: CardProps) {
  const id = useId();
  return (
    <section class={`card ${more}`} aria-labelledby={title ? id : undefined}>
      {title && (
        <div class="card-head">
          <div>
            <div class="card-title">
              <h2 id={id}>{title}</h2>
              {beside}
            </div>
            {about && <p class="quiet">{about}</p>}
          </div>
          {actions && <div class="actions">{actions}</div>}
        </div>
      )}
      {children}
    </section>
  );
}

/** An empty state, with a suggestion what to do. */
export function Empty({
  children,
  action,
}: {
  readonly children: ComponentChildren;
  readonly action?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <p>{children}</p>
      {action}
    </div>
  );
}

/** Shows data once it is read, and a placeholder until then. */
export function Read<T>({
  of,
  title,
  children,
}: {
  readonly of: Reading<T>;
  /** The heading of a page that could not be read. */
  readonly title?: string;
  readonly children: (data: T) => ComponentChildren;
}) {
  if (of.data !== undefined) return <>{children(of.data)}</>;
  if (of.refusal)
    return (
      <>
        {title && <PageHeader title={title} />}
        <Trouble refusal={of.refusal} retry={of.reload} />
      </>
    );
  return <Waiting />;
}

/** A placeholder for rows. It is not shown for rows that arrive within a moment. */
export function Waiting() {
  return (
    <div class="waiting" role="status">
      <span class="said">{t(partTexts.loading)}</span>
      <i />
      <i />
      <i />
    </div>
  );
}

/** Names and values of an object. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value === undefined || value === "" || value === false ? <span class="quiet">–</span> : value}</dd>
        </div>
      ))}
    </dl>
  );
}
