import type { ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { countListed, withFewer, withReasonOnly } from "../../../../../src/errors.ts";

/** A refusal as the trailers of gRPC and gRPC-Web. */
export const statusOf = (error: ConnectError): Headers => setTrailerStatus(new Headers(), error);

// https://grpc.io/docs/guides/metadata: clients take 8 KiB of metadata unless told otherwise, and Node sends 64 at most.
const mostBytes = 7 * 1024;

/** The same where the trailers are headers, which have a limit: with as many violations as fit. */
export function fittingStatusOf(error: ConnectError): Readonly<Record<string, string>> {
  const whole = statusOf(error);
  return Object.fromEntries(fits(whole) ? whole : largestFitting(error));
}

function largestFitting(error: ConnectError): Headers {
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

const fits = (status: Headers) =>
  [...status].reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0) <= mostBytes;
