import type { Deps } from "../deps.ts";
import type { ProviderSettings } from "./http/settings.ts";
import type { ReadDocument } from "./request/client_document.ts";
import type { IsRegistered } from "./request/cross_origin.ts";
import type { SigningKeys } from "./tokens/signing_keys.ts";

export type ProviderParts = {
  readonly deps: Deps;
  readonly settings: ProviderSettings;
  readonly keys: SigningKeys;
  readonly issuer: () => string;
  readonly isRegistered: IsRegistered;
  /** Reads documents of clients. */
  readonly readDocument: ReadDocument;
};
