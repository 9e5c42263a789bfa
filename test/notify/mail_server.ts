import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { certificateFor } from "../wire/certificate.ts";

/** A mail that the server took, with the envelope and the connection it came by. */
export type Taken = {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
  readonly encrypted: boolean;
  readonly user: string | undefined;
};

/** How the server behaves. */
export type MailServerOptions = {
  /** Encrypts from the first byte. */
  readonly tls?: boolean;
  /** Offers no STARTTLS. */
  readonly plain?: boolean;
  /** The only user, who has to sign in; anybody may send without one. */
  readonly login?: { readonly user: string; readonly pass: string };
  /** The status with which a recipient is refused; undefined takes it. */
  readonly refuses?: (address: string) => number | undefined;
};

/** A mail server on this machine, at `localhost`. */
export type MailServer = AsyncDisposable & {
  readonly port: number;
  readonly caFile: string;
  readonly taken: Taken[];
};

/** Starts a mail server that speaks SMTP. */
export async function startMailServer({ tls = false, plain = false, login, refuses }: MailServerOptions = {}) {
  await using opened = new AsyncDisposableStack();
  const { certFile, keyFile } = opened.use(await certificateFor("localhost"));
  const taken: Taken[] = [];
  const server = new SMTPServer({
    secure: tls,
    key: await readFile(keyFile),
    cert: await readFile(certFile),
    authOptional: login === undefined,
    disabledCommands: plain ? ["STARTTLS"] : [],
    disableReverseLookup: true,
    onAuth({ username, password }, _session, done) {
      if (username === login?.user && password === login?.pass) return done(null, { user: username });
      done(Object.assign(new Error("no"), { responseCode: 535 }));
    },
    onRcptTo({ address }, _session, done) {
      const responseCode = refuses?.(address);
      done(responseCode === undefined ? null : Object.assign(new Error(`no ${address}`), { responseCode }));
    },
    async onData(stream, { envelope, secure, user }, done) {
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk as Buffer);
      const from = envelope.mailFrom === false ? "" : (envelope.mailFrom?.address ?? "");
      const to = envelope.rcptTo.map(({ address }) => address);
      const raw = Buffer.concat(chunks).toString("utf8");
      taken.push({ from, to, raw, encrypted: secure === true, user: user === undefined ? undefined : String(user) });
      done();
    },
  });
  // A client that ends a handshake is the client's concern.
  server.on("error", () => {});
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  opened.defer(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const stack = opened.move();
  const { port } = server.server.address() as AddressInfo;
  return { port, caFile: certFile, taken, [Symbol.asyncDispose]: () => stack.disposeAsync() } satisfies MailServer;
}
