import { useLocation } from "preact-iso";
import { persistently } from "../calls/lazy.ts";
import { organizationId } from "../calls/organization.ts";
import { linkTo } from "../links.ts";
import { type Page, pages } from "../pages.ts";
import { Icon } from "../parts/icons.tsx";
import { Face } from "../parts/names.tsx";
import { may, me } from "../sign_in/me.ts";
import { signOut } from "../sign_in/sign_in.ts";
import { shellTexts } from "../texts/shell.ts";
import {
  type Language,
  language,
  languageNames,
  languages,
  loadWords,
  rememberLanguage,
  showLanguage,
  t,
} from "../texts/text.ts";
import { OrganizationSwitcher } from "./organization_switcher.tsx";

/** The pages that the user may open, and the links to their own account. */
export function Navigation() {
  const { path } = useLocation();
  const offered = pages.filter(isOffered);
  return (
    <>
      <OrganizationSwitcher />
      <nav class="navigation" aria-label={t(shellTexts.navigation)}>
        {offered.map(({ path: own, entry }) => (
          <a key={own} href={linkTo(stepsOf(own))} aria-current={isHere(own, path) ? "page" : undefined}>
            {entry && <Icon name={entry.icon} />}
            <span>{entry && t(entry.text)}</span>
          </a>
        ))}
      </nav>
      <Oneself />
    </>
  );
}

/** Whether a page is offered: to users who may make the call that it is about, in this organization. */
export function isOffered({ entry }: Page): boolean {
  if (!entry) return false;
  const { needs, isOfInstance } = entry;
  return !needs || may(needs, isOfInstance ? { instance: true } : { organizationId: organizationId.value });
}

/** The path of a page without its optional parts. */
export const stepsOf = (path: string): string[] => path.split("/").filter((step) => step && !step.endsWith("?"));

function isHere(page: string, path: string): boolean {
  const own = `/${stepsOf(page).join("/")}`;
  const here = path.replace(/^\/console/, "").replace(/\/$/, "") || "/";
  return own === "/" ? here === "/" : here === own || here.startsWith(`${own}/`);
}

function Oneself() {
  const { user } = me.value ?? {};
  const { human, machine, username = "" } = user ?? {};
  const name = human ? `${human.givenName} ${human.familyName}` : (machine?.name ?? username);
  return (
    <div class="oneself">
      <div class="oneself-name">
        <Face name={name} isMachine={machine !== undefined} />
        <div>
          <b>{name}</b>
          <small>{username}</small>
        </div>
      </div>
      <a href="/account">
        <Icon name="user" />
        <span>{t(shellTexts.account)}</span>
      </a>
      <button type="button" onClick={() => signOut(user?.id ?? "")}>
        <Icon name="out" />
        <span>{t(shellTexts.signOut)}</span>
      </button>
      <label class="language">
        <span class="said">{t(shellTexts.language)}</span>
        <select
          value={language.value}
          onChange={(event) => {
            const wanted = languages.find((one) => one === event.currentTarget.value);
            if (wanted) void choose(wanted);
          }}
        >
          {languages.map((one) => (
            <option key={one} value={one}>
              {languageNames[one]}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

async function choose(wanted: Language): Promise<void> {
  rememberLanguage(wanted);
  await persistently(() => loadWords(wanted));
  showLanguage(wanted);
}
