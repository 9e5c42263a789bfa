/** The state that a server must be in for its connections to be used, in the values of libpq's `target_session_attrs`. */
export type SessionNeed = "any" | "read-write" | "primary";

/** The servers of a database, one URL each, in the order in which they are tried. */
export type Servers = Readonly<{ urls: readonly [string, ...string[]]; need: SessionNeed }>;

const needs: readonly SessionNeed[] = ["any", "read-write", "primary"];
const encryptionModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];
// Each server gets its share of the time for connecting.
const mostServers = 16;

// Section 34.1.2 of the PostgreSQL 18 manual. Other names are settings of the server, and are sent to it.
const unknownParameters = new Set([
  ...["hostaddr", "dbname", "user", "password", "passfile", "require_auth", "channel_binding", "connect_timeout"],
  ...["client_encoding", "fallback_application_name", "keepalives", "keepalives_idle", "keepalives_interval"],
  ...["keepalives_count", "tcp_user_timeout", "replication", "gssencmode", "sslnegotiation", "sslcompression"],
  ...["sslpassword", "sslcertmode", "sslcrl", "sslcrldir", "sslsni", "requirepeer", "ssl_min_protocol_version"],
  ...["ssl_max_protocol_version", "min_protocol_version", "max_protocol_version", "krbsrvname", "gsslib"],
  ...["gssdelegation", "scram_client_key", "scram_server_key", "service", "servicefile", "load_balance_hosts"],
  ...["sslkeylogfile", "oauth_issuer", "oauth_client_id", "oauth_client_secret", "oauth_scope", "requiressl"],
]);

/** Reads a URL of one or more servers as libpq does, or throws the rest of a sentence about the URL, without its password. */
export function serversOf(url: string): Servers {
  const [, scheme, credentials = "", authority = "", path = "", query = ""] = form.exec(url) ?? [];
  if (!scheme) throw new Error("must begin with postgresql:// or postgres://");
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys())
    if (unknownParameters.has(name))
      throw new Error(`has the parameter ${name}, which libpq knows and this program does not: leave it out`);
  checkEncryption(parameters);
  const need = needOf(parameters);
  const addresses = addressesOf(authority, parameters);
  for (const name of ["host", "port", "target_session_attrs"]) parameters.delete(name);
  const urls = addresses.map((address) => urlOf({ front: `${scheme}${credentials}`, path, parameters }, address));
  const [first, ...more] = urls;
  if (!first || urls.length > mostServers) throw new Error(`must name from 1 to ${mostServers} hosts`);
  return { urls: [first, ...more], need };
}

// The scheme, the user with the password, the hosts, the path, and the parameters.
const form = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#@]*)([^?#]*)(?:\?([^#]*))?$/;

function checkEncryption(parameters: URLSearchParams): void {
  const mode = parameters.get("sslmode") ?? "disable";
  if (encryptionModes.includes(mode)) return;
  throw new Error(`must have an sslmode of libpq, such as verify-full, not ${JSON.stringify(mode)}`);
}

function needOf(parameters: URLSearchParams): SessionNeed {
  const written = parameters.get("target_session_attrs") ?? "any";
  const need = needs.find((one) => one === written);
  if (need) return need;
  throw new Error(`must have a target_session_attrs of ${needs.join(", ")}, not ${JSON.stringify(written)}`);
}

/** A host, or a folder of Unix-domain sockets, and a port, if one is named. */
type Address = Readonly<{ host: string; port: string }>;

// The parameters take precedence over the hosts before the path.
function addressesOf(authority: string, parameters: URLSearchParams): Address[] {
  const named = authority.split(",").map(addressOf);
  const hosts = parameters.get("host")?.split(",") ?? named.map(({ host }) => host);
  const ports = parameters.get("port")?.split(",") ?? named.map(({ port }) => port);
  if (ports.length !== 1 && ports.length !== hosts.length)
    throw new Error(`must have one port, or as many ports as hosts: it has ${ports.length} for ${hosts.length}`);
  if (hosts.length > 1 && hosts.includes("")) throw new Error("must name each host of its list");
  return hosts.map((host, index) => ({ host, port: portOf(ports.length === 1 ? ports[0] : ports[index]) }));
}

function addressOf(written: string): Address {
  const [, host = "", port = ""] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(written) ?? ["", written];
  return { host: decoded(host.replace(/^\[|\]$/g, "")), port };
}

function decoded(host: string): string {
  try {
    return decodeURIComponent(host);
  } catch {
    throw new Error("must have its hosts percent-encoded");
  }
}

function portOf(written = ""): string {
  if (written === "" || (/^\d{1,5}$/.test(written) && Number(written) > 0 && Number(written) <= 65_535)) return written;
  throw new Error(`must have ports from 1 to 65535, not ${JSON.stringify(written)}`);
}

type Rest = Readonly<{ front: string; path: string; parameters: URLSearchParams }>;

function urlOf({ front, path, parameters }: Rest, { host, port }: Address): string {
  const own = new URLSearchParams(parameters);
  const isFolder = host.startsWith("/");
  if (isFolder) own.set("host", host);
  const name = isFolder ? "localhost" : host.includes(":") ? `[${host}]` : host;
  const url = `${front}${name}${port && `:${port}`}${path}${own.size > 0 ? `?${own}` : ""}`;
  if (URL.canParse(url)) return url;
  throw new Error("must be a URL such as postgresql://user:password@host:5432/postern");
}
