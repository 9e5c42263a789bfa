import { setTimeout as pause } from "node:timers/promises";
import { connect, type PeerCertificate, type TLSSocket } from "node:tls";
import { Code, createClient } from "@connectrpc/connect";
import { Health, HealthCheckResponse_ServingStatus as Serving } from "@postern/gateway";
import { type Door, doors } from "./call_protocols.ts";
import type { Connection } from "./connection.ts";
import { contractOf, methodNamed, ownContract } from "./contract.ts";
import { Failure, withoutControls } from "./failure.ts";
import { invoke } from "./invoke.ts";
import { type Probed, probe } from "./probe.ts";

/** A finding about a service; warnings are not failures. */
export type Finding = { readonly state: "ok" | "warn" | "fail"; readonly line: string };

/** Checks a running service from outside: its certificate, health, readiness and clock, each protocol, and the token. */
export async function checkup(connection: Connection): Promise<readonly Finding[]> {
  const secure = connection.url.startsWith("https:")
    ? [await certificateFinding(connection)]
    : [plainFinding(connection)];
  const alive = await probe(connection, "/healthz");
  if (!alive.status) return [...secure, failed(`health: ${connection.url} does not respond: ${alive.text}`)];
  return [
    ...secure,
    probed("health", alive),
    probed("readiness", await probe(connection, "/readyz")),
    clockFinding(alive),
    versionFinding(await probe(connection, "/openapi.json")),
    await healthFinding(connection),
    await reflectionFinding(connection),
    ...(await Promise.all(doors.map((door) => doorFinding(connection, door)))),
  ].map(({ state, line }) => ({ state, line: withoutControls(line) }));
}

const longestMs = 10_000;

const good = (line: string): Finding => ({ state: "ok", line });
const doubtful = (line: string): Finding => ({ state: "warn", line });
const failed = (line: string): Finding => ({ state: "fail", line });

function probed(name: string, { status, text, tookMs }: Probed): Finding {
  const line = `${name}: ${status} ${text.trim().slice(0, 100)} in ${tookMs} ms`;
  return status === 200 ? good(line) : failed(line);
}

const tolerableSkewMs = 5_000;

function clockFinding({ date }: Probed): Finding {
  if (date === undefined) return doubtful("clock: the response has no date");
  // The Date header has whole seconds.
  const skewMs = Math.max(0, Math.abs(Date.now() - date) - 1000);
  const line = `clock: ${skewMs < 1000 ? "less than a second" : `${Math.round(skewMs / 1000)} s`} off this machine's`;
  return skewMs <= tolerableSkewMs ? good(line) : doubtful(line);
}

function versionFinding({ status, text }: Probed): Finding {
  if (status !== 200) return good(`version: unknown, because /openapi.json is not served here (${status})`);
  const [, version] = /"info":\{[^{}]*"version":"([^"]{1,50})"/.exec(text) ?? [];
  return version ? good(`version: ${version} of the contract`) : doubtful("version: /openapi.json does not contain it");
}

async function healthFinding(connection: Connection): Promise<Finding> {
  try {
    const { check } = createClient(Health, connection.transport("grpc"));
    const { status } = await check({}, { timeoutMs: longestMs });
    return status === Serving.SERVING ? good("grpc.health.v1: serving") : failed("grpc.health.v1: not serving");
  } catch (error) {
    return failed(`grpc.health.v1: ${textOf(error)}`);
  }
}

async function reflectionFinding(connection: Connection): Promise<Finding> {
  const contract = await contractOf(connection.transport("grpc"), AbortSignal.timeout(longestMs)).catch(
    () => undefined,
  );
  if (contract === undefined || contract === ownContract) return good("reflection: not served here");
  return good(`reflection: ${contract.services.length} services`);
}

// Errors about the caller prove that the protocol reaches the service.
const refusesCaller: readonly Code[] = [Code.Unauthenticated, Code.PermissionDenied];

async function doorFinding(connection: Connection, door: Door): Promise<Finding> {
  const method = methodNamed(ownContract, "AccountService/GetMe");
  const limit = { timeoutMs: longestMs, signal: AbortSignal.timeout(longestMs) };
  try {
    for await (const _ of invoke({ connection, contract: ownContract, method, door, messages: [{}], ...limit }));
    return good(`${door}: responds, and accepts the token`);
  } catch (error) {
    if (!(error instanceof Failure) || !refusesCaller.includes(error.code)) return failed(`${door}: ${textOf(error)}`);
    const hasToken = "authorization" in connection.headers;
    return hasToken ? failed(`${door}: ${error.message}`) : good(`${door}: responds, and requires a token`);
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function plainFinding({ url }: Connection): Finding {
  const isLocal = /^http:\/\/(localhost|127\.|\[::1\])/.test(url);
  return isLocal
    ? good("tls: none, on this machine")
    : doubtful(`tls: none, so that tokens cross the network unencrypted`);
}

const soonDays = 21;

async function certificateFinding({ url, ca }: Connection): Promise<Finding> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const options = { host, port: Number(port || 443), ALPNProtocols: ["h2", "http/1.1"], rejectUnauthorized: false };
  const socket = connect({ ...options, ...(ca ? { ca } : {}), ...(/[a-z]/i.test(host) ? { servername: host } : {}) });
  try {
    await Promise.race([
      secured(socket),
      pause(longestMs).then(() => Promise.reject(new Error("no response in time"))),
    ]);
    return judged(socket, socket.getPeerCertificate());
  } catch (error) {
    return failed(`tls: ${textOf(error)}`);
  } finally {
    socket.destroy();
  }
}

function secured(socket: TLSSocket): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on("secureConnect", resolve).on("error", reject);
  return promise;
}

function judged(socket: TLSSocket, { valid_to: end }: PeerCertificate): Finding {
  const days = Math.floor((Date.parse(end) - Date.now()) / 86_400_000);
  const line = `tls: ${socket.getProtocol()}, ${socket.alpnProtocol || "no ALPN"}, the certificate expires in ${days} days (${end})`;
  if (!socket.authorized) return failed(`${line}, and is not trusted: ${String(socket.authorizationError)}`);
  return days < soonDays ? doubtful(line) : good(line);
}
