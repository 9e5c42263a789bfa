import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { eventually } from "../../first_start.ts";
import { freePort } from "../../wire/free_port.ts";

/** Options of the suite: its program, the certificate that it shows, and the file of its output. */
export type SuiteOptions = {
  readonly jar: string;
  readonly certFile: string;
  readonly keyFile: string;
  readonly logFile: string;
};

/** An entry of the log of a module. */
export type Entry = {
  /** The condition that the entry is of. */
  readonly src: string;
  readonly result?: string;
  readonly msg?: string;
  /** The name of an image that the entry waits for. */
  readonly upload?: string;
};

/** A module of a plan, with the variants that it runs in. */
export type Module = { readonly testModule: string; readonly variant: Readonly<Record<string, string>> };

/** A URL that the module wants a browser to open. */
export type Opening = { readonly url: string; readonly method: string };

/** The state of a module that runs, and its result once it has ended. */
export type State = { readonly status: string; readonly result: string };

/** The suite by its HTTP interface. */
export type Suite = AsyncDisposable & {
  readonly url: string;
  readonly newPlan: (name: string, variant: object, config: object) => Promise<{ id: string; modules: Module[] }>;
  readonly newTest: (planId: string, module: Module) => Promise<string>;
  readonly stateOf: (testId: string) => Promise<State>;
  readonly urlsOf: (testId: string) => Promise<readonly Opening[]>;
  readonly opened: (testId: string, url: string) => Promise<void>;
  readonly logOf: (testId: string) => Promise<readonly Entry[]>;
  readonly upload: (testId: string, placeholder: string) => Promise<void>;
};

/** Starts the suite on a free port, in the mode that asks for no sign-in of its own. */
export async function startSuite({ jar, certFile, keyFile, logFile }: SuiteOptions): Promise<Suite> {
  const port = await freePort();
  const url = `https://localhost:${port}`;
  const settings = {
    ...{ "server.address": "127.0.0.1", "server.port": port, "fintechlabs.devmode": true },
    ...{ "server.ssl.certificate": `file:${certFile}`, "server.ssl.certificate-private-key": `file:${keyFile}` },
    ...{ "fintechlabs.base_url": url, "fintechlabs.base_mtls_url": url },
    "spring.data.mongodb.uri": process.env.OPENID_SUITE_MONGODB ?? "mongodb://127.0.0.1:27017/test_suite",
  };
  const options = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
  const child = spawn("java", ["-Xmx1g", "-jar", jar, ...options], { stdio: ["ignore", "pipe", "pipe"] });
  const output = createWriteStream(logFile);
  child.stdout.pipe(output);
  child.stderr.pipe(output);
  const exited = once(child, "exit");
  const stop = async () => {
    child.kill();
    await exited;
  };
  await using opened = new AsyncDisposableStack();
  opened.defer(stop);
  await listening(url, exited);
  const stack = opened.move();
  return { ...interfaceOf(url), [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function listening(url: string, exited: Promise<unknown>): Promise<void> {
  const ended = exited.then(() => Promise.reject(new Error("the suite ended before it listened: see its output")));
  // A Java program of this size takes more than a minute to start on a busy machine.
  const up = async () => {
    for (let tries = 0; ; tries++)
      try {
        return await eventually(() => isUp(url), "the suite");
      } catch (error) {
        if (tries === 4) throw error;
      }
  };
  await Promise.race([up(), ended]);
}

const isUp = (url: string): Promise<true | undefined> =>
  fetch(`${url}/api/runner/available`).then(
    async (answer) => {
      await answer.arrayBuffer();
      return answer.ok || undefined;
    },
    () => undefined,
  );

function interfaceOf(url: string): Omit<Suite, typeof Symbol.asyncDispose> {
  const call = async (method: string, path: string, body?: string | object) => {
    const headers = { "content-type": typeof body === "string" ? "text/plain" : "application/json" };
    const text = typeof body === "object" ? JSON.stringify(body) : body;
    const answer = await fetch(`${url}/api/${path}`, {
      method,
      headers,
      ...(text === undefined ? {} : { body: text }),
    });
    const content = await answer.text();
    if (!answer.ok)
      throw new Error(`the suite answers ${answer.status} to ${method} ${path}: ${content.slice(0, 500)}`);
    return content === "" ? undefined : JSON.parse(content);
  };
  return {
    url,
    newPlan: (planName, variant, config) =>
      call("POST", `plan?${new URLSearchParams({ planName, variant: JSON.stringify(variant) })}`, config),
    async newTest(plan, { testModule, variant }) {
      const asked = new URLSearchParams({ test: testModule, plan, variant: JSON.stringify(variant) });
      return (await call("POST", `runner?${asked}`)).id;
    },
    stateOf: (testId) => call("GET", `info/${testId}`),
    urlsOf: async (testId) => (await call("GET", `runner/${testId}`)).browser?.urlsWithMethod ?? [],
    opened: (testId, address) =>
      call("POST", `runner/browser/${testId}/visit?${new URLSearchParams({ url: address })}`),
    logOf: (testId) => call("GET", `log/${testId}`),
    upload: (testId, placeholder) => call("POST", `log/${testId}/images/${placeholder}`, emptyImage),
  };
}

// One pixel: the page itself is judged by `judge.ts`, and the suite only counts that there is a picture.
const emptyImage =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
