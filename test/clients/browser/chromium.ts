import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import type { Readable, Writable } from "node:stream";
import { fastFolder } from "../../fast_folder.ts";

/** A headless Chromium with a profile of its own. */
export type Browser = AsyncDisposable &
  Windows & {
    /** Windows with cookies and storage of their own, as in another browser. */
    readonly apart: () => Promise<Windows>;
  };

type Windows = { readonly open: (url: string) => Promise<Page> };

/** A page that has loaded. */
export type Page = {
  /** Calls a function of the page with values that JSON can carry, and waits for what it answers. */
  readonly run: (name: string, ...given: unknown[]) => Promise<unknown>;
  /** Calls a function that leaves the page, and waits for the next one. */
  readonly leave: (name: string, ...given: unknown[]) => Promise<void>;
  /** Shows the page in light or dark colours, as its user prefers. */
  readonly inColors: (scheme: "light" | "dark") => Promise<void>;
  /** Shows the page on a screen of this width: that of a telephone if it is narrow. */
  readonly onScreen: (width: number) => Promise<void>;
  /**
   * Gives the page a platform authenticator, as a telephone with a fingerprint has one. Its user is there, until the function that
   * comes back is called with false.
   */
  readonly withAuthenticator: () => Promise<(isThere: boolean) => Promise<void>>;
  /** Runs no script of this page, and of those that it goes on to, from now on. */
  readonly withoutScript: () => Promise<void>;
  /** Shows this page, and those that it goes on to, as in a time zone. */
  readonly inTimeZone: (timezoneId: string) => Promise<void>;
  /** Forgets the cookies of the browser. */
  readonly clearCookies: () => Promise<void>;
  /** Sends a command of the DevTools protocol to the page. */
  readonly raw: (
    method: string,
    params?: Readonly<Record<string, unknown>>,
  ) => Promise<Readonly<Record<string, unknown>>>;
  readonly close: () => Promise<void>;
  /** Waits for the window that a function of the page opens. */
  readonly opens: (name: string, ...given: unknown[]) => Promise<Page>;
  /** The messages of the console, and the refusals of the content security policy among them. */
  readonly messages: readonly string[];
  /** The requests of the page, preflights included, as `METHOD path`. */
  readonly requests: readonly string[];
  /** The answers with an error's status, as `404 path`. */
  readonly refused: readonly string[];
  /** How many requests have no answer yet, streams aside. */
  readonly pending: () => number;
  /** The versions of HTTP that answers came by. */
  readonly protocols: ReadonlySet<string>;
};

const quietly = [
  ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"],
  ...["--disable-background-networking", "--disable-component-update"],
  // Servers of tests sign their certificates themselves.
  "--ignore-certificate-errors",
];

/** Starts Chromium, and speaks its DevTools protocol over pipes, so that it ends when this process does. */
export async function startChromium(): Promise<Browser> {
  const profile = await fastFolder("postern-chromium-");
  // The memory of a container may be too small for the pictures that the processes share.
  const sharing = profile.startsWith(tmpdir()) ? ["--disable-dev-shm-usage"] : [];
  const given = [...quietly, ...sharing, "--remote-debugging-pipe", `--user-data-dir=${profile}`, "about:blank"];
  const chromium = spawn("chromium", given, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const ended = once(chromium, "exit");
  const devTools = speak(chromium);
  return {
    open: (url) => openPage(devTools, { url }),
    async apart() {
      const { browserContextId } = await devTools.ask("Target.createBrowserContext");
      return { open: (url) => openPage(devTools, { url, browserContextId }) };
    },
    async [Symbol.asyncDispose]() {
      await Promise.race([devTools.ask("Browser.close"), ended]);
      await ended;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

type Fields = Record<string, unknown>;
type DevTools = {
  readonly ask: (method: string, params?: Fields, sessionId?: string) => Promise<Fields>;
  readonly events: EventEmitter;
};

/** Each message is JSON, and ends with U+0000. */
function speak(chromium: ChildProcess): DevTools {
  const [, , , input, output] = chromium.stdio as unknown as [unknown, unknown, unknown, Writable, Readable];
  const pending = new Map<number, PromiseWithResolvers<Fields>>();
  const events = new EventEmitter();
  let [rest, last] = ["", 0];
  output.setEncoding("utf8").on("data", (text: string) => {
    rest += text;
    if (!text.includes("\0")) return;
    const messages = rest.split("\0");
    rest = messages.pop() ?? "";
    for (const { id, method, params, result, error, sessionId } of messages.map((one) => JSON.parse(one))) {
      if (method) events.emit(`${sessionId} ${method}`, params);
      else if (error) pending.get(id)?.reject(new Error(error.message));
      else pending.get(id)?.resolve(result);
    }
  });
  output.on("close", () => {
    for (const { reject } of pending.values()) reject(new Error("Chromium has ended"));
  });
  input.on("error", () => {});
  const ask: DevTools["ask"] = (method, params = {}, sessionId) => {
    const answer = Promise.withResolvers<Fields>();
    pending.set(++last, answer);
    input.write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`);
    return answer.promise;
  };
  return { ask, events };
}

type Opening = { readonly url: string; readonly browserContextId?: unknown };

async function openPage(devTools: DevTools, { url, ...where }: Opening): Promise<Page> {
  const { targetId } = await devTools.ask("Target.createTarget", { url: "about:blank", ...where });
  return attachTo(devTools, { targetId: String(targetId), url });
}

/** A target of the browser, and the URL that it is to go to; a window that a page opened has gone to its own. */
type Target = { readonly targetId: string; readonly url?: string };

async function attachTo(devTools: DevTools, { targetId, url }: Target): Promise<Page> {
  const { ask, events } = devTools;
  const { sessionId } = (await ask("Target.attachToTarget", { targetId, flatten: true })) as { sessionId: string };
  const requests: string[] = [];
  const protocols = new Set<string>();
  const messages: string[] = [];
  events.on(`${sessionId} Log.entryAdded`, ({ entry }) => messages.push(entry.text));
  events.on(`${sessionId} Runtime.exceptionThrown`, ({ exceptionDetails }) => messages.push(exceptionDetails.text));
  events.on(`${sessionId} Network.requestWillBeSent`, ({ request }) =>
    requests.push(`${request.method} ${new URL(request.url).pathname}`),
  );
  const pending = new Set<string>();
  events.on(`${sessionId} Network.requestWillBeSent`, ({ requestId, request }) => {
    if (!request.url.includes("/Watch")) pending.add(requestId);
  });
  for (const end of ["loadingFinished", "loadingFailed"])
    events.on(`${sessionId} Network.${end}`, ({ requestId }) => pending.delete(requestId));
  // What a page that goes had asked for has no end.
  events.on(`${sessionId} Page.frameNavigated`, () => pending.clear());
  const refused: string[] = [];
  events.on(`${sessionId} Network.responseReceived`, ({ response }) => {
    protocols.add(response.protocol);
    if (response.status >= 400) refused.push(`${response.status} ${new URL(response.url).pathname}`);
  });
  const crash = Promise.withResolvers<never>();
  crash.promise.catch(() => {});
  events.on(`${sessionId} Inspector.targetCrashed`, () =>
    crash.reject(new Error(`the page ${url ?? targetId} has crashed`)),
  );
  await ask("Inspector.enable", {}, sessionId);
  // Otherwise each event brings the whole body that was sent, spelt out.
  await ask("Network.enable", { maxPostDataSize: 1 }, sessionId);
  for (const domain of ["Page", "Log", "Runtime"]) await ask(`${domain}.enable`, {}, sessionId);
  if (url !== undefined) {
    const loaded = once(events, `${sessionId} Page.loadEventFired`);
    await ask("Page.navigate", { url }, sessionId);
    await loaded;
  }
  const run: Page["run"] = async (name, ...given) => {
    const expression = `${name}(...${JSON.stringify(given)})`;
    // As if a person had touched the page: otherwise it may copy nothing.
    const wanted = { expression, awaitPromise: true, returnByValue: true, userGesture: true };
    const evaluated = await Promise.race([ask("Runtime.evaluate", wanted, sessionId), crash.promise]);
    const { result, exceptionDetails } = evaluated as Evaluated;
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  const leave: Page["leave"] = async (name, ...given) => {
    const next = once(events, `${sessionId} Page.loadEventFired`);
    await run(`(async (...given) => { setTimeout(() => (${name})(...given)); })`, ...given);
    await next;
  };
  const inColors: Page["inColors"] = async (value) => {
    await ask("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] }, sessionId);
  };
  const onScreen = async (width: number) => {
    const screen = { width, height: 740, deviceScaleFactor: 1, mobile: width < 600 };
    await ask("Emulation.setDeviceMetricsOverride", screen, sessionId);
  };
  const withAuthenticator = async () => {
    await ask("WebAuthn.enable", {}, sessionId);
    const abilities = { hasResidentKey: true, hasUserVerification: true, isUserVerified: true };
    const options = { protocol: "ctap2", transport: "internal", ...abilities, automaticPresenceSimulation: true };
    const { authenticatorId } = await ask("WebAuthn.addVirtualAuthenticator", { options }, sessionId);
    return async (enabled: boolean) => {
      await ask("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled }, sessionId);
    };
  };
  const withoutScript = async () => {
    await ask("Emulation.setScriptExecutionDisabled", { value: true }, sessionId);
  };
  const inTimeZone = async (timezoneId: string) => {
    await ask("Emulation.setTimezoneOverride", { timezoneId }, sessionId);
  };
  const clearCookies = async () => {
    await ask("Network.clearBrowserCookies", {}, sessionId);
  };
  const raw: Page["raw"] = (method, params = {}) => ask(method, params, sessionId);
  const opens: Page["opens"] = async (name, ...given) => {
    const opened = Promise.withResolvers<string>();
    const onTarget = ({ targetInfo }: { targetInfo: { targetId: string; openerId?: string } }) => {
      if (targetInfo.openerId === targetId) opened.resolve(targetInfo.targetId);
    };
    events.on("undefined Target.targetCreated", onTarget);
    await ask("Target.setDiscoverTargets", { discover: true });
    await run(name, ...given);
    const page = await attachTo(devTools, { targetId: await opened.promise });
    events.off("undefined Target.targetCreated", onTarget);
    return page;
  };
  const close = async () => {
    await ask("Target.closeTarget", { targetId });
  };
  const acts = {
    close,
    run,
    leave,
    inColors,
    onScreen,
    withAuthenticator,
    withoutScript,
    inTimeZone,
    clearCookies,
    raw,
    opens,
  };
  return { ...acts, messages, requests, refused, protocols, pending: () => pending.size };
}

type Evaluated = {
  readonly result: { readonly value?: unknown };
  readonly exceptionDetails?: { readonly text: string; readonly exception?: { readonly description?: string } };
};
