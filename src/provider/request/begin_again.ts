import type { Keyring } from "../../security/seal.ts";
import { type Parameters, parametersIn } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { PageError } from "../pages/page_error.ts";
import { deviceBeginning, deviceIn, isDeviceRequest } from "./device_request.ts";
import { isMarked } from "./pushed_request.ts";
import { openRequest } from "./sealed_request.ts";

/** The error for a form that cannot continue in its browser, with a way to start over. */
export const formExpired = (beginning: string): PageError => new PageError("expired", {}, { status: 403, beginning });

/** The path at which the sign-in of a query can be restarted, by anyone. */
export function beginningOf(query: string): string {
  const parameters = parametersIn(query);
  if (isDeviceRequest(parameters)) return deviceBeginning(deviceIn(parameters).userCode);
  return `${paths.authorize}?${query}`;
}

/** The current time, and the path at which the request of a query can be restarted. */
type Reading = { readonly now: Date; readonly beginning: (query: string) => string };

/**
 * The query of the sealed request that a form returns. If we sealed it but it is too old, the error page has a button to start over, unless
 * it was pushed: a pushed request has expired by then, too.
 */
export function queryOf(keyring: Keyring, form: Parameters, { now, beginning }: Reading): string {
  const opened = openRequest(keyring, form.get("request"), now);
  if (!opened || (opened.isOld && isMarked(parametersIn(opened.query)))) throw new PageError("expired");
  if (opened.isOld) throw new PageError("expired", {}, { beginning: beginning(opened.query) });
  return opened.query;
}
