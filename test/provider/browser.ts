/** A page that a browser shows, or the place outside that it was sent to. */
export type Shown = {
  readonly status: number;
  readonly url: string;
  readonly text: string;
  readonly headers: Headers;
};

/** A browser without script: it keeps cookies, follows redirects within the issuer, goes on from pages that lead on, and sends forms. */
export type Browser = {
  readonly cookies: Map<string, string>;
  /** Opens a URL; the way ends where it leaves the issuer, with the status of the response that leads there. */
  readonly open: (url: string, headers?: Readonly<Record<string, string>>) => Promise<Shown>;
  /** Sends the form of a page with these values, by the button of this name. */
  readonly submit: (page: Shown, values: Readonly<Record<string, string>>, action?: string) => Promise<Shown>;
  /** Sends a request as it is. */
  readonly send: (url: string, request?: RequestInit) => Promise<Shown>;
};

/** Opens a browser at a node; as behind a proxy, its forms name the origin of the issuer. It sends the headers with each request. */
export function openBrowser(node: string, always: Readonly<Record<string, string>> = {}): Browser {
  const cookies = new Map<string, string>();
  let asked: Promise<string> | undefined;
  // Asked when it is needed: nobody would wait for an answer that comes after the node has stopped.
  const issuer = () => {
    asked ??= issuerAt(node);
    return asked;
  };

  return {
    cookies,
    send,
    open: (url, headers = {}) => followed(url, { headers }),
    async submit(page, values, action = "password") {
      const form = formWith(page.text, action);
      const target = new URL(textIn(form, /<form method="post" action="([^"]*)"/), node).href;
      const body = new URLSearchParams({ ...hiddenIn(form), ...values, action });
      return followed(target, { method: "POST", body, headers: { origin: await issuer() } });
    },
  };

  async function followed(url: string, request: RequestInit): Promise<Shown> {
    const shown = await send(url, request);
    const location = shown.headers.get("location");
    const onward = onwardIn(shown.text);
    if (onward !== undefined) return { ...shown, url: onward };
    if (location === null) return shown;
    if (shown.status !== 303) throw new Error(`a redirect by ${shown.status}`);
    const target = new URL(location, url);
    // From another name of its machine a node leads to its own first.
    const { pathname, search } = new URL(url);
    if (target.href === (await issuer()) + pathname + search) return followed(target.href, {});
    return [new URL(node).origin, await issuer()].includes(target.origin)
      ? followed(new URL(target.pathname + target.search, node).href, {})
      : { ...shown, url: target.href };
  }

  async function send(url: string, { headers, ...request }: RequestInit = {}): Promise<Shown> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, {
      ...request,
      redirect: "manual",
      headers: { ...always, ...(cookie ? { cookie } : {}), ...(headers as Record<string, string>) },
    });
    for (const set of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]*)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    return { status: response.status, url, text: await response.text(), headers: response.headers };
  }
}

async function issuerAt(node: string): Promise<string> {
  const response = await fetch(`${node}/.well-known/openid-configuration`);
  return ((await response.json()) as { issuer: string }).issuer;
}

/** The form of a page that has a button, or the whole page where none has it. */
const formWith = (text: string, action: string): string =>
  text.match(/<form[\s\S]*?<\/form>/g)?.find((form) => form.includes(`name="action" value="${action}"`)) ?? text;

/** The hidden fields of a page by their names. */
export const hiddenIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(([, name = "", value = ""]) => [
      name,
      unescaped(value),
    ]),
  );

/** The place that a page goes on to by itself. */
export function onwardIn(text: string): string | undefined {
  const [, url] = /<meta http-equiv="refresh" content="0;url=([^"]*)">/.exec(text) ?? [];
  return url === undefined ? undefined : unescaped(url);
}

/** The first group of a pattern in a page, as text. */
export function textIn(text: string, pattern: RegExp): string {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`there is no ${pattern} in ${text}`);
  return unescaped(found);
}

const unescaped = (html: string): string =>
  html
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
