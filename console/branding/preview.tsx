import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ShownColorsJson } from "../../gen/postern/v1/organization_pb.ts";
import { type LiveQuestion, useLive } from "../calls/use_live.ts";
import type { Draft } from "../parts/field.tsx";
import { brandingTexts } from "../texts/branding.ts";
import { language, languageNames, languages, t } from "../texts/text.ts";
import { isColor, plain, type Scheme } from "./colors.ts";

/** The colours as the pages show them: the server makes an accent legible. */
type Colors = Readonly<Partial<Record<Scheme, ShownColorsJson>>>;
export type ColorsQuestion = LiveQuestion<Colors>;

type PreviewProps = {
  readonly draft: Draft;
  readonly organization: string;
  /** The colours in force. */
  readonly shown: Colors;
  /** Asks for the colours of the draft, if it changed any. */
  readonly question: ColorsQuestion | undefined;
};

/** The sign-in page with a branding, in light and dark, and the changes that keep it legible. */
export function Preview({ shown, question, ...about }: PreviewProps) {
  // Until the answer arrives, the colours stay as they were.
  const answer = useLive(question);
  const colors = answer?.value ?? shown;
  const isOfNow = question === undefined || answer?.isOfNow === true;
  return (
    <div class="preview">
      <h3>{t(brandingTexts.preview)}</h3>
      <div class="panes">
        {(["light", "dark"] as const).map((scheme) => (
          <Pane key={scheme} scheme={scheme} shown={colors[scheme] ?? {}} isOfNow={isOfNow} {...about} />
        ))}
      </div>
    </div>
  );
}

const textIn = (draft: Draft, name: string): string => String(draft[name] ?? "");

/** The accent in the draft for light or dark pages; an incomplete colour counts as none. */
function wantedAccent(draft: Draft, scheme: Scheme): string {
  const [own, other] = [draft.darkAccentColor, draft.accentColor].map((color) => (isColor(color) ? color : ""));
  return ((scheme === "dark" && own) || other || plain[scheme].accent).toLowerCase();
}

type PaneProps = Pick<PreviewProps, "draft" | "organization"> & {
  readonly scheme: Scheme;
  readonly shown: ShownColorsJson;
  /** Whether the colours belong to the current draft. */
  readonly isOfNow: boolean;
};

function Pane({ scheme, draft, organization, shown, isOfNow }: PaneProps) {
  const wanted = wantedAccent(draft, scheme);
  const { accentColor = "", textColor = "", backgroundColor = "" } = shown;
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!host.current) return;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
    host.current.style.colorScheme = scheme;
    const own = { "--accent": accentColor, "--on-accent": textColor, "--ground": backgroundColor };
    render(<SignInPage draft={draft} organization={organization} scheme={scheme} own={own} />, root);
  });
  return (
    <div>
      <div ref={host} class="pane" role="img" aria-label={t(brandingTexts[scheme])} inert />
      {isOfNow && accentColor !== wanted && (
        <p class="help warn" role="status">
          {t(brandingTexts.illegible, { wanted, shown: accentColor })}
        </p>
      )}
    </div>
  );
}

type SignInPageProps = Pick<PreviewProps, "draft" | "organization"> & {
  readonly scheme: Scheme;
  readonly own: Readonly<Record<string, string>>;
};

/** The sign-in page as the server writes it, with its own stylesheet. */
function SignInPage({ draft, organization, scheme, own }: SignInPageProps) {
  const body = useRef<HTMLDivElement>(null);
  const sheet = useRef<CSSStyleSheet | null>(null);
  useEffect(() => {
    if (body.current && sheet.current) paint(body.current, { sheet: sheet.current, scheme, own });
  });
  const [name = "", other] = [...new Set([textIn(draft, "productName"), organization])].filter(Boolean);
  const [logo, note] = [textIn(draft, "logo"), textIn(draft, "signInText")];
  return (
    <>
      <link
        rel="stylesheet"
        href="/sign-in/style.css"
        onLoad={(event) => {
          sheet.current = event.currentTarget.sheet;
          if (body.current && sheet.current) paint(body.current, { sheet: sheet.current, scheme, own });
        }}
      />
      <div ref={body} lang={language.value} hidden>
        <div class="card">
          <header>
            {logo && <img class="logo" src={logo} alt="" />}
            <div>
              <b>{name}</b>
              {other && <span>{other}</span>}
            </div>
          </header>
          <main>
            <h1>{t(brandingTexts.signIn)}</h1>
            <p>{t(brandingTexts.toApplication, { application: t(brandingTexts.yourApplication) })}</p>
            <form>
              <label for="login_name">{t(brandingTexts.loginName)}</label>
              <input id="login_name" />
              <div class="secret">
                <label for="password">{t(brandingTexts.password)}</label>
                <input id="password" />
              </div>
              <button type="button">{t(brandingTexts.signIn)}</button>
            </form>
            <form>
              <button type="button" class="link">
                {t(brandingTexts.forgotten)}
              </button>
            </form>
            {note && <p class="note">{note}</p>}
          </main>
          <PageFooter draft={draft} />
        </div>
      </div>
    </>
  );
}

function PageFooter({ draft }: { readonly draft: Draft }) {
  const links = (["terms", "privacy", "help"] as const).filter((name) => draft[`${name}Uri`]);
  return (
    <footer>
      {links.length > 0 && (
        <p>
          {links.map((name) => (
            <a key={name} href="#top">
              {t(brandingTexts[name])}
            </a>
          ))}
        </p>
      )}
      <nav>
        {languages.map((one) =>
          one === language.value ? (
            <span key={one}>{languageNames[one]}</span>
          ) : (
            <a key={one} href="#top" lang={one}>
              {languageNames[one]}
            </a>
          ),
        )}
      </nav>
    </footer>
  );
}

type Paint = Pick<SignInPageProps, "scheme" | "own"> & { readonly sheet: CSSStyleSheet };

/** Applies the stylesheet's rules for the page as a whole to an element that represents it. */
function paint(body: HTMLElement, { sheet, scheme, own }: Paint): void {
  const rules = [...sheet.cssRules];
  const isOf = (selector: string) => (rule: CSSRule) =>
    rule instanceof CSSStyleRule && rule.selectorText === selector ? [rule.style] : [];
  const dark = rules.flatMap((rule) =>
    rule instanceof CSSMediaRule && rule.conditionText.includes("dark") ? [...rule.cssRules] : [],
  );
  const said = [...rules.flatMap(isOf("body")), ...rules.flatMap(isOf(":root"))];
  const all = [...said, ...(scheme === "dark" ? dark.flatMap(isOf(":root")) : [])];
  body.style.cssText = all.map(({ cssText }) => cssText).join("");
  for (const [name, value] of Object.entries(own)) body.style.setProperty(name, value);
  body.style.minHeight = "100%";
  body.hidden = false;
}
