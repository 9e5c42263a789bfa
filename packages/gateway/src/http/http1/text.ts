import type { ResponseFields } from "../exchange.ts";
import { STATUS_CODES } from "./node_http.ts";

const isFieldValue = (value: string) => !/[^\t\x20-\x7e]/.test(value);

/** The status line and headers of a response; `extraHeaders` are complete lines. */
export function headText(status: number, headers: ResponseFields, extraHeaders: string): string {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n`;
  for (const name in headers) {
    const value = headers[name] ?? "";
    if (typeof value === "string") text += fieldLine(name, value);
    else for (const one of value) text += fieldLine(name, one);
  }
  return `${text}${extraHeaders}\r\n`;
}

function fieldLine(name: string, value: string): string {
  // A line break in a value would let its author add headers.
  if (!isFieldValue(value)) throw new TypeError(`the header ${name} has a value that cannot be sent`);
  return `${name}: ${value}\r\n`;
}

/** Whether a response with this status has neither a body nor a length: RFC 9112, 6.3. */
export const isBodiless = (status: number): boolean => status < 200 || status === 204 || status === 304;
