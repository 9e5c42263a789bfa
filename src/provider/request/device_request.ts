import { shownUserCode } from "../../security/user_code.ts";
import type { Parameters } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import type { Resource } from "./resource.ts";

/** The device sign-in that a request is for, while it waits for its user. */
export type DeviceRequest = {
  readonly deviceId: string;
  /** The code that the user entered, as the device shows it. */
  readonly userCode: string;
  readonly scope: string;
  readonly organizationId: string | null;
  /** Whether the device asked for access to our own API. */
  readonly forApi: boolean;
  /** The APIs that the device asked for; null for each that the project no longer has. */
  readonly resources: readonly (Resource | null)[] | null;
  readonly expirationDate: Date;
};

// Nobody knows the id of a waiting sign-in: it only appears in the sealed requests of our forms.
const idParameter = "urn:postern:device";
const codeParameter = "user_code";

/** Composes the query that our forms seal instead of an authorization request's. */
export const deviceQuery = (deviceId: string, typedCode: string): string =>
  new URLSearchParams({ [idParameter]: deviceId, [codeParameter]: shownUserCode(typedCode) }).toString();

export const isDeviceRequest = (parameters: Parameters): boolean => parameters.get(idParameter) !== undefined;

/** The page on which a device sign-in begins, with the code that the device shows. */
export const deviceBeginning = (userCode: string): string =>
  `${paths.device}?${new URLSearchParams({ [codeParameter]: userCode })}`;

/** The id and the code in a device's request. */
export const deviceIn = (parameters: Parameters) => ({
  id: parameters.get(idParameter) ?? "",
  userCode: parameters.get(codeParameter) ?? "",
});
