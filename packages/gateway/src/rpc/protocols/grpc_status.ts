import { create, isMessage, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import type { ConnectError } from "@connectrpc/connect";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.ts";
import { countListed, withFewer, withReasonOnly } from "../../errors/refusal.ts";
import type { ResponseFields } from "../../http/exchange.ts";
import { fieldsOf, type Metadata, metadataOf } from "./protocol.ts";

/** The trailers of a gRPC call: its status, cut to fit the limit on trailers, and custom fields. */
export function trailersOf(error: ConnectError | undefined, { trailer }: Metadata): ResponseFields {
  const status = error ? fittingStatusOf(error) : ok;
  return trailer ? { ...fieldsOf(trailer), ...status } : status;
}

/** The trailers of a gRPC-Web call, which have room for every violation because they are part of the body. */
export function bodyTrailersOf(error: ConnectError | undefined, { trailer }: Metadata): ResponseFields {
  const status = error ? statusOf(error) : ok;
  return trailer ? { ...fieldsOf(trailer), ...status } : status;
}

const ok: ResponseFields = { "grpc-status": "0" };

// https://grpc.io/docs/guides/metadata: clients accept 8 KiB of metadata by default, and Node sends at most 64 KiB.
const maxBytes = 7 * 1024;

/** The status of an error, with as many violations as fit into trailers. */
export function fittingStatusOf(error: ConnectError): ResponseFields {
  const whole = statusOf(error);
  return fits(whole) ? whole : largestFitting(error);
}

function largestFitting(error: ConnectError): ResponseFields {
  let fitting = statusOf(withReasonOnly(error));
  let [low, high] = [0, countListed(error)];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const status = statusOf(withFewer(error, middle));
    if (fits(status)) {
      fitting = status;
      low = middle + 1;
    } else high = middle - 1;
  }
  return fitting;
}

const fits = (status: ResponseFields) =>
  Object.entries(status).reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0) <= maxBytes;

/** The complete status of an error. */
export function statusOf(error: ConnectError): ResponseFields {
  const { code, rawMessage: message, details } = error;
  const status = { ...metadataOf(error), "grpc-status": String(code), "grpc-message": percentEncoded(message) };
  if (details.length === 0) return status;
  const packed = details.map((one) => {
    if (!("desc" in one)) return { typeUrl: `type.googleapis.com/${one.type}`, value: one.value };
    return anyPack(one.desc, isMessage(one.value, one.desc) ? one.value : create(one.desc, one.value));
  });
  const bytes = toBinary(StatusSchema, create(StatusSchema, { code, message, details: packed }));
  // Binary metadata is sent without padding, which not every client accepts.
  return { ...status, "grpc-status-details-bin": Buffer.from(bytes).toString("base64").replace(/=+$/, "") };
}

/** gRPC's percent-encoding, which keeps printable ASCII except the percent sign. */
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md: clients only partly decode the output of encodeURIComponent.
export function percentEncoded(text: string): string {
  if (/^[\x20-\x24\x26-\x7e]*$/.test(text)) return text;
  return text.toWellFormed().replace(/[^\x20-\x24\x26-\x7e]/gu, (character) => {
    let encoded = "";
    for (const byte of Buffer.from(character)) encoded += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    return encoded;
  });
}
