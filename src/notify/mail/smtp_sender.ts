import { readFile } from "node:fs/promises";
import type { Transporter } from "nodemailer";
import { NotTaken } from "../not_taken.ts";
import type { Mail, MailSender } from "./mail.ts";

/** A mail server that takes mails for delivery. */
export type SmtpServer = {
  readonly host: string;
  readonly port: number;
  /** How the connection is encrypted: from its beginning, by STARTTLS, which is required then, or not at all. */
  readonly encryption: "tls" | "starttls" | "none";
  readonly auth: { readonly user: string; readonly pass: string } | undefined;
  /** A file of authorities in PEM, in place of those that Node trusts. */
  readonly caFile: string | undefined;
  readonly from: { readonly name: string; readonly address: string };
  readonly timeoutMs: number;
};

/** Sends each mail over SMTP, on a connection of its own. */
export function smtpSender(server: SmtpServer): MailSender {
  let transport: Promise<Transporter> | undefined;
  return async (mail, signal) => {
    refuseUnsafe(mail.to);
    transport ??= open(server);
    // A file of authorities that cannot be read now may be there at the next try.
    const opened = await transport.catch((error: NodeJS.ErrnoException) => {
      transport = undefined;
      throw new NotTaken(`its authorities cannot be read (${error.code})`);
    });
    await opened.sendMail(messageOf(server, mail, signal)).catch((error: unknown) => {
      throw notTaken(error, signal);
    });
  };
}

/** Loads the library with the first mail: a node without a mail server does without it. */
async function open({ host, port, encryption, auth, caFile, timeoutMs }: SmtpServer): Promise<Transporter> {
  const ca = caFile === undefined ? undefined : await readFile(caFile, "utf8");
  const { createTransport } = await import("nodemailer");
  return createTransport({
    host,
    port,
    secure: encryption === "tls",
    requireTLS: encryption === "starttls",
    ignoreTLS: encryption === "none",
    tls: { minVersion: "TLSv1.2", ...(ca === undefined ? {} : { ca }) },
    ...(auth ? { auth } : {}),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

function messageOf({ from }: SmtpServer, { id, to, subject, text, html }: Mail, signal: AbortSignal) {
  const domain = from.address.slice(from.address.lastIndexOf("@") + 1);
  return {
    from,
    // An object is one address; a text would be parsed as a list.
    to: { name: "", address: to },
    subject,
    text,
    html,
    signal,
    // The same at every try, so that a mail that left twice can be seen to be one.
    messageId: `<${id}@${domain}>`,
    // RFC 3834: no answering machine answers.
    headers: { "auto-submitted": "auto-generated" },
  };
}

/** Refuses an address that could end a header or a command; the contract lets none be stored. */
function refuseUnsafe(address: string): void {
  if (/^[^\p{C}\s<>,;:"()[\]\\@]+@[^\p{C}\s<>,;:"()[\]\\@]+$/u.test(address)) return;
  throw new NotTaken("the address is no address", { permanent: true });
}

type SmtpError = { readonly code?: unknown; readonly responseCode?: unknown };

// The text of an error may repeat the address or the mail: only its numbers and names are kept.
function notTaken(error: unknown, signal: AbortSignal): NotTaken {
  if (signal.aborted) return new NotTaken("it did not answer in time");
  const { code, responseCode } = (error ?? {}) as SmtpError;
  if (typeof responseCode !== "number") {
    return new NotTaken(`it cannot be used${typeof code === "string" ? ` (${code})` : ""}`);
  }
  // A refused sign-in, greeting or STARTTLS concerns the settings, which may be put right meanwhile.
  const concernsMail = code === "EENVELOPE" || code === "EMESSAGE";
  return new NotTaken(`it answered ${responseCode}`, { permanent: concernsMail && responseCode >= 500 });
}
