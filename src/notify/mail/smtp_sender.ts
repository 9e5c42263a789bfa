import { readFile } from "node:fs/promises";
import type { Transporter } from "nodemailer";
import { NotTaken } from "../not_taken.ts";
import type { Mail, MailSender } from "./mail.ts";

/** An SMTP server that accepts mails for delivery. */
export type SmtpServer = {
  readonly host: string;
  readonly port: number;
  /** How the connection is encrypted: from the start, with STARTTLS, which is then mandatory, or not at all. */
  readonly encryption: "tls" | "starttls" | "none";
  readonly auth: { readonly user: string; readonly pass: string } | undefined;
  /** A file of certificate authorities in PEM that replace Node's. */
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
    // A file of authorities that cannot be read now may be readable at the next attempt.
    const opened = await transport.catch((error: NodeJS.ErrnoException) => {
      transport = undefined;
      throw new NotTaken(`its authorities cannot be read (${error.code})`);
    });
    await opened.sendMail(messageOf(server, mail, signal)).catch((error: unknown) => {
      throw notTaken(error, signal);
    });
  };
}

/** Loads the library for the first mail, so that nodes without a mail server never load it. */
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
    // An object is taken as one address; a text would be parsed as a list.
    to: { name: "", address: to },
    subject,
    text,
    html,
    signal,
    // The same at every attempt, so that duplicates can be recognized.
    messageId: `<${id}@${domain}>`,
    // RFC 3834: tells auto-responders not to reply.
    headers: { "auto-submitted": "auto-generated" },
  };
}

/** Refuses an address that could break out of a header or command, although the contract lets none be stored. */
function refuseUnsafe(address: string): void {
  if (/^[^\p{C}\s<>,;:"()[\]\\@]+@[^\p{C}\s<>,;:"()[\]\\@]+$/u.test(address)) return;
  throw new NotTaken("the address is no address", { permanent: true });
}

type SmtpError = { readonly code?: unknown; readonly responseCode?: unknown };

// An error's text may repeat the address or the mail, so only its numbers and names are kept.
function notTaken(error: unknown, signal: AbortSignal): NotTaken {
  if (signal.aborted) return new NotTaken("it did not answer in time");
  const { code, responseCode } = (error ?? {}) as SmtpError;
  if (typeof responseCode !== "number") {
    return new NotTaken(`it cannot be used${typeof code === "string" ? ` (${code})` : ""}`);
  }
  // If sign-in, greeting or STARTTLS is refused, the settings are wrong and may still be corrected.
  const concernsMail = code === "EENVELOPE" || code === "EMESSAGE";
  return new NotTaken(`it answered ${responseCode}`, { permanent: concernsMail && responseCode >= 500 });
}
