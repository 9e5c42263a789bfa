/** Settings of clients that bring their own document. */
export type DocumentSettings = {
  /** The hosts of the documents, or `*` for all; without any, no document is read. */
  readonly clientDocumentHosts: readonly string[];
};

const longestId = 200;

/**
 * Whether a client id has the form of a document's URL (OAuth Client ID Metadata Document, 3): https, with a path, in normal form, so that
 * ids are compared by bytes and a host of another script stands in ASCII.
 */
export function isDocumentId(clientId: string): boolean {
  if (clientId.length > longestId || !clientId.startsWith("https://") || !URL.canParse(clientId)) return false;
  const { href, pathname, username, password } = new URL(clientId);
  return href === clientId && pathname !== "/" && !username && !password && !/[?#]/.test(clientId);
}

/** Whether a client id is the URL of a document at one of the hosts whose clients are admitted. */
export const isAdmitted = ({ clientDocumentHosts: hosts }: DocumentSettings, clientId: string): boolean =>
  hosts.length > 0 && isDocumentId(clientId) && (hosts.includes("*") || hosts.includes(hostOf(clientId)));

/** The host of a document, which is the name of its client on our pages: nothing else about it is proven. */
export const hostOf = (document: string): string => new URL(document).host;

/** The name of a document's host, by which reads are counted: all its ports may be one machine. */
export const nameOfHost = (document: string): string => new URL(document).hostname.replace(/\.$/, "");
