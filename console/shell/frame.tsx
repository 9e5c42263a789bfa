import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { ErrorBoundary, Route, Router, useLocation } from "preact-iso";
import { connection, outdated } from "../calls/connection.ts";
import { lazy } from "../calls/lazy.ts";
import { forgetCalls } from "../calls/made_calls.ts";
import { organizationId } from "../calls/organization.ts";
import { linkTo } from "../links.ts";
import { pages } from "../pages.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { Icon } from "../parts/icons.tsx";
import { Toasts } from "../parts/toasts.tsx";
import { me } from "../sign_in/me.ts";
import { connectionTexts } from "../texts/connection.ts";
import { partTexts } from "../texts/parts.ts";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";
import { Mark } from "./mark.tsx";
import { Navigation } from "./navigation.tsx";

const Finder = lazy(() => import("./finder.tsx"));
const CallsDrawer = lazy(() => import("./calls_drawer.tsx"));

/** The frame around every page: the navigation, the search, and the calls that the page made. */
export function Frame() {
  const { path, query } = useLocation();
  const isMenuOpen = useSignal(false);
  const aside = useSignal<"finder" | "calls" | undefined>(undefined);
  // Pages below read it while they are rendered.
  organizationId.value = query.org ?? me.value?.organization?.id;
  useEffect(() => {
    isMenuOpen.value = false;
  }, [path]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "k" || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      aside.value = "finder";
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const close = () => {
    aside.value = undefined;
  };
  return (
    <div class="frame">
      <a class="skip" href="#content">
        {t(shellTexts.skip)}
      </a>
      <header class={`side ${isMenuOpen.value ? "open" : ""}`} id="side">
        <div class="side-head">
          <a href={linkTo([])} class="home-link">
            <Mark />
          </a>
          <MenuButton isOpen={isMenuOpen.value} onClick={() => (isMenuOpen.value = !isMenuOpen.value)} />
        </div>
        <Navigation />
      </header>
      <div class="top">
        <button
          type="button"
          class="find"
          onClick={() => (aside.value = "finder")}
          aria-keyshortcuts="Control+K Meta+K"
        >
          <Icon name="search" />
          <span>{t(shellTexts.find)}</span>
          <kbd>{/Mac|iP/.test(navigator.platform) ? "⌘K" : "Ctrl K"}</kbd>
        </button>
        <Button icon="code" kind="bare" onClick={() => (aside.value = "calls")}>
          {t(shellTexts.calls)}
        </Button>
      </div>
      <main id="content" tabIndex={-1}>
        <Interruptions />
        <Pages key={organizationId.value} />
      </main>
      <Toasts />
      <ErrorBoundary>
        {aside.value === "finder" && <Finder onClose={close} />}
        {aside.value === "calls" && <CallsDrawer onClose={close} />}
      </ErrorBoundary>
    </div>
  );
}

function MenuButton({ isOpen, onClick }: { readonly isOpen: boolean; readonly onClick: () => void }) {
  return (
    <button type="button" class="menu-button" aria-expanded={isOpen} aria-controls="side" onClick={onClick}>
      <Icon name={isOpen ? "close" : "menu"} />
      <span class="said">{t(isOpen ? partTexts.close : shellTexts.menu)}</span>
    </button>
  );
}

function Interruptions() {
  return (
    <>
      {connection.value === "lost" && (
        <p class="banner warn" role="status">
          <Icon name="warn" />
          {t(connectionTexts.trying)}
        </p>
      )}
      {outdated.value && (
        <div class="banner" role="status">
          <span>{t(connectionTexts.upgraded)}</span>
          <Button onClick={() => location.reload()}>{t(connectionTexts.loadAnew)}</Button>
        </div>
      )}
    </>
  );
}

function Pages() {
  const arrive = () => {
    forgetCalls();
    scrollTo(0, 0);
    // Moves users of screen readers and keyboards to the new page, too.
    document.getElementById("content")?.focus({ preventScroll: true });
  };
  return (
    <ErrorBoundary onError={(error) => Promise.reject(error)}>
      <Router onRouteChange={arrive}>
        {pages.map(({ path, page }) => (
          <Route key={path} path={`/console${path}`} component={page as ComponentType} />
        ))}
        <Route default component={NotFound} />
      </Router>
    </ErrorBoundary>
  );
}

function NotFound() {
  return (
    <div class="empty">
      <h1>{t(shellTexts.notFound)}</h1>
      <LinkButton kind="main" href={linkTo([])}>
        {t(shellTexts.toHome)}
      </LinkButton>
    </div>
  );
}
