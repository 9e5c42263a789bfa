import type { ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { BadRequestSchema, ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { mostViolations, reasonOf, refuse } from "../../errors.ts";

/** A refusal as the trailers of gRPC and gRPC-Web. */
export function statusOf(error: ConnectError): Headers {
  // A field of JSON may be named by half a character, which no percent-encoding can carry.
  const sayable = error.rawMessage.isWellFormed()
    ? error
    : repeated(error, { most: mostViolations, mostCharacters: 1e6 });
  return setTrailerStatus(new Headers(), sayable);
}

// https://grpc.io/docs/guides/metadata: clients take 8 KiB of metadata unless told otherwise, and Node sends 64 at most.
const mostBytes = 7 * 1024;

/** The same where the trailers are headers, which have a limit: as much of the refusal as fits. */
export function fittingStatusOf(error: ConnectError): Readonly<Record<string, string>> {
  let status = statusOf(error);
  for (let most = 64; sizeOf(status) > mostBytes && most >= 1; most /= 2)
    status = statusOf(repeated(error, { most, mostCharacters: 500 }));
  return Object.fromEntries(status);
}

const sizeOf = (status: Headers) =>
  [...status].reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);

type Bounds = { readonly most: number; readonly mostCharacters: number };

function repeated(error: ConnectError, { most, mostCharacters }: Bounds): ConnectError {
  const cut = (text: string) =>
    (text.length > mostCharacters ? `${text.slice(0, mostCharacters)}…` : text).toWellFormed();
  const info = error.findDetails(ErrorInfoSchema)[0];
  const all = error.findDetails(BadRequestSchema)[0]?.fieldViolations ?? [];
  const params = Object.fromEntries(Object.entries(info?.metadata ?? {}).map(([key, value]) => [key, cut(value)]));
  const violations = all
    .slice(0, most)
    .map(({ field, description, reason }) => ({ field: cut(field), description: cut(description), reason }));
  return refuse.because(reasonOf(error) ?? "INTERNAL", { params, ...(all.length > 0 && { violations }) });
}
