import { create, isMessage, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import type { ConnectError } from "@connectrpc/connect";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.ts";
import { countListed, withFewer, withReasonOnly } from "../../errors/refusal.ts";
import type { ResponseFields } from "../../http/exchange.ts";
import { fieldsOf, type Metadata, metadataOf } from "./protocol.ts";

/** The trailers of a call of gRPC: its status, cut to what trailers have room for, and the fields that were set for them. */
export function trailersOf(error: ConnectError | undefined, { trailer }: Metadata): ResponseFields {
  const status = error ? fittingStatusOf(error) : ok;
  return trailer ? { ...fieldsOf(trailer), ...status } : status;
}

/** The trailers of a call of gRPC-Web, which has room for every violation: they are a part of its body. */
export function bodyTrailersOf(error: ConnectError | undefined, { trailer }: Metadata): ResponseFields {
  const status = error ? statusOf(error) : ok;
  return trailer ? { ...fieldsOf(trailer), ...status } : status;
}

const ok: ResponseFields = { "grpc-status": "0" };

// https://grpc.io/docs/guides/metadata: clients take 8 KiB of metadata unless told otherwise, and Node sends 64 at most.
const maxBytes = 7 * 1024;

/** The status of a refusal with as many violations as trailers have room for. */
export function fittingStatusOf(error: ConnectError): ResponseFields {
  const whole = statusOf(error);
  return fits(whole) ? whole : largestFitting(error);
}

function largestFitting(error: ConnectError): ResponseFields {
  let fitting = statusOf(withReasonOnly(error));
  let [least, most] = [0, countListed(error)];
  while (least <= most) {
    const middle = (least + most) >> 1;
    const status = statusOf(withFewer(error, middle));
    if (fits(status)) {
      fitting = status;
      least = middle + 1;
    } else most = middle - 1;
  }
  return fitting;
}

const fits = (status: ResponseFields) =>
  Object.entries(status).reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0) <= maxBytes;

/** The whole status of a refusal. */
export function statusOf(error: ConnectError): ResponseFields {
  const { code, rawMessage: message, details } = error;
  const status = { ...metadataOf(error), "grpc-status": String(code), "grpc-message": percentEncoded(message) };
  if (details.length === 0) return status;
  const packed = details.map((one) => {
    if (!("desc" in one)) return { typeUrl: `type.googleapis.com/${one.type}`, value: one.value };
    return anyPack(one.desc, isMessage(one.value, one.desc) ? one.value : create(one.desc, one.value));
  });
  const bytes = toBinary(StatusSchema, create(StatusSchema, { code, message, details: packed }));
  // Binary metadata is sent without padding, which not every client takes.
  return { ...status, "grpc-status-details-bin": Buffer.from(bytes).toString("base64").replace(/=+$/, "") };
}

/** The percent-encoding of gRPC, which keeps all of ASCII that can be printed but the percent sign itself. */
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md: clients decode what encodeURIComponent encodes only in part.
export function percentEncoded(text: string): string {
  if (/^[\x20-\x24\x26-\x7e]*$/.test(text)) return text;
  return text.toWellFormed().replace(/[^\x20-\x24\x26-\x7e]/gu, (sign) => {
    let encoded = "";
    for (const byte of Buffer.from(sign)) encoded += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    return encoded;
  });
}
