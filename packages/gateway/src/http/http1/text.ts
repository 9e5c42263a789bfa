import { STATUS_CODES } from "node:http";
import type { ResponseFields } from "../exchange.ts";

const isSayable = (value: string) => !/[^\t\x20-\x7e]/.test(value);

/** What precedes the body of an answer. */
export function headText(status: number, headers: ResponseFields, more: string): string {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n`;
  for (const name in headers) {
    const value = headers[name] ?? "";
    if (typeof value === "string") text += line(name, value);
    else for (const one of value) text += line(name, one);
  }
  return `${text}${more}\r\n`;
}

function line(name: string, value: string): string {
  // A line break in a value would be a header of somebody else's choice.
  if (!isSayable(value)) throw new TypeError(`the header ${name} has a value that no header can have`);
  return `${name}: ${value}\r\n`;
}

/** Whether an answer of this status has no body, and says no length of one: RFC 9112, 6.3. */
export const isBodiless = (status: number): boolean => status < 200 || status === 204 || status === 304;
