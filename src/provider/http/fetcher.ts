import { readFile } from "node:fs/promises";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Agent, type RequestOptions, request } from "node:https";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { findAddresses } from "./name_lookup.ts";

/** Settings of requests to URIs that applications register. */
export type FetchSettings = {
  /** Private subnets that may be called. */
  readonly outgoingPrivateNetworks: readonly string[];
  /** Certificate authorities in PEM that replace Node's; empty to use Node's. */
  readonly outgoingCaFile: string;
};

/** Reads the text at an https URI registered by an application; throws if the URI may not be called or does not respond with a text. */
export type FetchText = (uri: string) => Promise<string>;

/** The parts of a document's response that are read: its text, and the headers that say how long it may be kept. */
export type DocumentResponse = { readonly text: string; readonly headers: IncomingHttpHeaders };

/** Reads a JSON document at an https URI that a client names; throws if the URI may not be called or does not respond with one. */
export type FetchDocument = (uri: string) => Promise<DocumentResponse>;

/** Posts a form to an https URI registered by an application, and returns the response status; throws if the URI may not be called. */
export type PostForm = (uri: string, form: Readonly<Record<string, string>>) => Promise<number>;

/** The parts of the response to a post that are read. */
export type Posted = { readonly status: number; readonly headers: IncomingHttpHeaders };

/** Posts to https URIs registered by an administrator over connections that it keeps until it is disposed of. */
export type OutwardPoster = Disposable & {
  /** Throws if the URI may not be called, or the connection ends before the response. */
  readonly post: (uri: string, headers: Readonly<Record<string, string>>, body: string) => Promise<Posted>;
};

/** The timeout of a request. */
export const outwardTimeoutMs = 5_000;
const mostBytes = 65_536;

export function outwardFetch(settings: FetchSettings): FetchText {
  const call = outwardCall(settings);
  return async (uri) => textOf(await call(uri, readsJson), mostBytes);
}

const readsJson = { method: "GET", headers: { accept: "application/json" } };

/** Makes the function that reads documents of clients, up to a number of bytes each. */
export function outwardDocuments(settings: FetchSettings, most: number): FetchDocument {
  const call = outwardCall(settings);
  return async (uri) => {
    const response = await call(uri, readsJson);
    const { headers } = response;
    // RFC 6839, 3.1.
    if (!/^application\/(?:[\w.-]+\+)?json *(?:;|$)/i.test(headers["content-type"] ?? "")) {
      response.destroy();
      throw new Error("the answer is no JSON");
    }
    return { text: await textOf(response, most), headers };
  };
}

/** Makes the function that posts forms to URIs registered by applications. Of the response, it reads only the status. */
export function outwardPost(settings: FetchSettings): PostForm {
  const call = outwardCall(settings);
  return async (uri, form) => {
    const body = new URLSearchParams(form).toString();
    const headers = {
      "content-type": "application/x-www-form-urlencoded",
      "content-length": String(Buffer.byteLength(body)),
    };
    const response = await call(uri, { method: "POST", headers }, body);
    response.destroy();
    return response.statusCode ?? 0;
  };
}

/** Makes posters whose requests have a time limit. Of a response, they read little more than its head. */
export function outwardPosters(settings: FetchSettings, timeoutMs: number): () => OutwardPoster {
  const call = outwardCall(settings);
  return () => {
    const agent = new Agent({ keepAlive: true });
    return {
      async post(uri, given, body) {
        const headers = { ...given, "content-length": String(Buffer.byteLength(body)) };
        const options = { method: "POST", headers, agent, signal: AbortSignal.timeout(timeoutMs) };
        const response = await call(uri, options, body);
        await skimmed(response);
        return { status: response.statusCode ?? 0, headers: response.headers };
      },
      [Symbol.dispose]: () => agent.destroy(),
    };
  };
}

const mostSkimmed = 16_384;

/** Waits for the end of a response, so that its connection can be used again, or for as much of it as is read. */
async function skimmed(response: IncomingMessage): Promise<void> {
  let length = 0;
  for await (const part of response) {
    length += part.length;
    // Leaving the loop closes the connection.
    if (length > mostSkimmed) return;
  }
}

/**
 * Makes the only function that calls URIs registered by applications: public ones over https, without redirects, and with limits on time
 * and size.
 */
function outwardCall({ outgoingPrivateNetworks, outgoingCaFile }: FetchSettings) {
  const isAllowed = addressCheck(outgoingPrivateNetworks);
  const checked = checkedLookup(isAllowed);
  const authorities = outgoingCaFile ? readFile(outgoingCaFile, "utf8") : Promise.resolve(undefined);
  // The rejection is handled when the first request awaits this.
  authorities.catch(() => {});

  return async (uri: string, options: RequestOptions, body = ""): Promise<IncomingMessage> => {
    const { protocol, hostname } = new URL(uri);
    const literal = hostname.replace(/^\[(.*)\]$/, "$1");
    if (protocol !== "https:") throw new Error("only https is called");
    if (isIP(literal) !== 0 && !isAllowed(literal)) throw new Error("the address is not public");
    const ca = await authorities;
    const usual = { agent: false, signal: AbortSignal.timeout(outwardTimeoutMs) };
    const all = { ...usual, ...options, lookup: checked, ...(ca ? { ca } : {}) };
    return responseOf(uri, all, body);
  };
}

function responseOf(uri: string, options: RequestOptions, body: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(uri, options, resolve).on("error", reject).end(body);
  });
}

async function textOf(response: IncomingMessage, most: number): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  if (response.statusCode !== 200) {
    response.destroy();
    throw new Error(`the answer has the status ${response.statusCode}`);
  }
  for await (const part of response) {
    length += part.length;
    // Leaving the loop closes the connection.
    if (length > most) throw new Error(`the response is larger than ${most} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

/**
 * Resolves a name to addresses that may all be called. The addresses checked here are the ones connected to, so DNS cannot change in
 * between.
 */
function checkedLookup(isAllowed: (address: string) => boolean): LookupFunction {
  const find = findAddresses(outwardTimeoutMs);
  const checked = async (name: string) => {
    const addresses = await find(name);
    if (addresses.length === 0) throw new Error("the name has no address");
    if (!addresses.every(({ address }) => isAllowed(address))) throw new Error("the address is not public");
    return addresses;
  };
  return (hostname, { all }, callback) => {
    checked(hostname).then(
      (addresses) => {
        if (all) callback(null, [...addresses]);
        else callback(null, addresses[0]?.address ?? "", addresses[0]?.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}

// IANA's registries of special-purpose addresses (RFC 6890). Of IPv6, only the global unicast range counts as public at all.
const specialIpv4 = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
  ...["192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"],
  ...["224.0.0.0/4", "240.0.0.0/4"],
];
const globalIpv6 = ["2000::/3"];
const specialIpv6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

/** Makes the check whether an address may be called: it is public, or in one of these subnets. */
export function addressCheck(privateNetworks: readonly string[]): (address: string) => boolean {
  const [special, global, exceptions] = [
    listOf([...specialIpv4, ...specialIpv6]),
    listOf(globalIpv6),
    listOf(privateNetworks),
  ];
  return (address) => {
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    if (isIP(address) === 0) return false;
    if (exceptions.check(address, family)) return true;
    return !special.check(address, family) && (family === "ipv4" || global.check(address, family));
  };
}

function listOf(subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [address = "", prefix] = subnet.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    list.addSubnet(address, Number(prefix ?? (family === "ipv6" ? 128 : 32)), family);
  }
  return list;
}
