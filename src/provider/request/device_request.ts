import { shownUserCode } from "../../security/user_code.ts";
import type { Parameters } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";

/** The sign-in on a device that a request is for, while it waits for its user. */
export type DeviceRequest = {
  readonly deviceId: string;
  /** The code that the user entered, as the device shows it. */
  readonly userCode: string;
  readonly scope: string;
  readonly organizationId: string | null;
  /** Whether it asked for access to our own API. */
  readonly forApi: boolean;
  readonly expirationDate: Date;
};

// The id of a waiting sign-in is known to nobody: it is in the sealed requests of our forms alone.
const idParameter = "urn:postern:device";
const codeParameter = "user_code";

/** Composes the query that our forms seal in place of that of an authorization request. */
export const deviceQuery = (deviceId: string, typedCode: string): string =>
  new URLSearchParams({ [idParameter]: deviceId, [codeParameter]: shownUserCode(typedCode) }).toString();

/** Whether a request is for a device. */
export const isDeviceRequest = (parameters: Parameters): boolean => parameters.get(idParameter) !== undefined;

/** The page on which the sign-in on a device begins, with the code that the device shows. */
export const deviceBeginning = (userCode: string): string =>
  `${paths.device}?${new URLSearchParams({ [codeParameter]: userCode })}`;

/** The id and the code in a request for a device. */
export const deviceIn = (parameters: Parameters) => ({
  id: parameters.get(idParameter) ?? "",
  userCode: parameters.get(codeParameter) ?? "",
});
