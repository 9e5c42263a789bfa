import { fieldsOf, type HttpResponse } from "../wire/http.ts";

/** Describes a response that no request should get, an error of ours; undefined for any other. */
export function findingIn(response: HttpResponse): string | undefined {
  const fields = fieldsOf(response);
  const details = fields["grpc-status-details-bin"];
  const texts = [String(response.body), Buffer.from(String(response.body), "base64").toString("latin1")];
  if (details) texts.push(Buffer.from(details, "base64").toString("latin1"));
  // The reason of every error that is no refusal.
  const isInternal = texts.some((text) => /\bINTERNAL\b/.test(text));
  const isUnknown = fields["grpc-status"] === "2";
  // ENCODING_MISSING has the code that gRPC gives it, and so the status of HTTP.
  const isFailed = response.status >= 500 && response.status !== 501 && response.status !== 505;
  // The response to HEAD has no body to say why.
  const isLate = response.status === 504 && response.body.length === 0;
  const isForeseen = isLate || texts.some((text) => /ENCODING_MISSING|DEADLINE_EXCEEDED/.test(text));
  if (isInternal || isUnknown || (isFailed && !isForeseen))
    return `${response.status} ${texts[0]?.slice(0, 300)} ${JSON.stringify(fields).slice(0, 300)}`;
  return undefined;
}
