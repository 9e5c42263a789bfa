import { hiddenIn, onwardIn, textIn } from "../../provider/browser.ts";
import type { Login } from "./provider.ts";
import type { Opening } from "./suite.ts";

/** A browser of one module: it keeps cookies, and does what a user does at our pages. */
export type Browser = {
  /** Opens a URL and goes on until the suite has its response, or a page is left; answers the names of the pages. */
  readonly open: (opening: Opening) => Promise<readonly string[]>;
};

type Shown = { readonly url: URL; readonly status: number; readonly text: string; readonly location: string | null };

// A sign-in has four pages at most: password, factor, consent, and the form that leads back.
const mostSteps = 12;

/** Opens a browser that signs in at the pages of an issuer, and hands responses to the suite. */
export function openBrowser(issuer: string, suite: string, login: Login): Browser {
  const cookies = new Map<string, string>();
  return { open };

  async function open({ url, method }: Opening): Promise<readonly string[]> {
    const { origin, pathname, search } = new URL(url);
    const pages: string[] = [];
    let shown = method === "POST" ? await form(origin + pathname, search.slice(1)) : await request(url);
    for (let step = 0; step < mostSteps; step++) {
      if (shown.url.origin === suite) return respondedWith(shown, pages);
      if (shown.location === null) pages.push(nameOf(shown));
      const next = await onwards(shown);
      if (!next) return pages;
      shown = next;
    }
    throw new Error(`the browser is still on the way after ${mostSteps} steps: ${pages.join(", ")}`);
  }

  /** The next place: that of a redirect, of a page that goes on by itself, or of the first button of a form; nothing on a page without either. */
  function onwards({ url, text, location }: Shown): Promise<Shown> | undefined {
    if (location !== null) return request(new URL(location, url).href);
    const [, inner] = /<form method="post"[^>]*>([\s\S]*?)<\/form>/.exec(text) ?? [];
    if (inner === undefined) return undefined;
    const [, name, value = ""] = /<button name="([^"]*)" value="([^"]*)"/.exec(inner) ?? [];
    const fields = {
      ...hiddenIn(inner),
      ...(inner.includes('name="login_name"') ? { login_name: login.loginName } : {}),
      ...(inner.includes('name="password"') ? { password: login.password } : {}),
      ...(name === undefined ? {} : { [name]: value }),
    };
    const action = new URL(textIn(text, /<form method="post" action="([^"]*)"/), url).href;
    return form(action, new URLSearchParams(fields).toString());
  }

  function form(url: string, body: string): Promise<Shown> {
    return request(url, { method: "POST", body, headers: { "content-type": "application/x-www-form-urlencoded" } });
  }

  async function request(address: string, { headers, ...more }: RequestInit = {}): Promise<Shown> {
    const url = new URL(address);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const own = url.origin === issuer ? { cookie, ...(more.method === "POST" ? { origin: issuer } : {}) } : {};
    const response = await fetch(address, {
      ...more,
      redirect: "manual",
      headers: { ...own, ...(headers as Record<string, string>) },
    });
    for (const set of url.origin === issuer ? response.headers.getSetCookie() : []) {
      const [, name = "", value = ""] = /^([^=]*)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    const text = await response.text();
    const location = response.headers.get("location") ?? onwardIn(text) ?? null;
    return { url, status: response.status, text, location };
  }
}

/** A response in a fragment stays in the browser: the page of the suite sends it on by a script, and so do we. */
async function respondedWith({ url, text }: Shown, pages: readonly string[]): Promise<readonly string[]> {
  const [, target] = /xhr\.open\('POST', "([^"]*)"/.exec(text) ?? [];
  if (target === undefined) return pages;
  const headers = { "content-type": "text/plain" };
  const answer = await fetch(target.replaceAll("\\/", "/"), { method: "POST", headers, body: url.hash });
  await answer.arrayBuffer();
  return pages;
}

/** The name of a page, as the list of reviewed pages has it. */
function nameOf({ status, text }: Shown): string {
  const [, problem] = /<code>([^<]*)<\/code>/.exec(text) ?? [];
  if (problem !== undefined) return `${status} ${problem}`;
  const [, action] = /<button name="action" value="([^"]*)"/.exec(text) ?? [];
  if (action !== undefined) return `${status} ${action}`;
  return `${status} ${text.includes("<form") ? "form" : "page"}`;
}
