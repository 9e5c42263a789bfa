// The part of the library that its stages use; the package itself has no types.
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  export type Grant = { addOIDCScope(scope: string): void; save(): Promise<string> };

  export const errors: { readonly InvalidGrant: new (detail: string) => Error };

  export type Context = {
    readonly oidc: {
      readonly provider: Provider;
      readonly client: { readonly clientId: string };
      readonly account: { readonly accountId: string };
      readonly params: { readonly scope?: string };
      readonly session: { grantIdFor(clientId: string): string | undefined };
    };
  };

  export default class Provider {
    constructor(issuer: string, configuration: object);
    readonly Grant: {
      new (of: { clientId: string; accountId: string }): Grant;
      find(id: string): Promise<Grant | undefined>;
    };
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    interactionDetails(
      request: IncomingMessage,
      response: ServerResponse,
    ): Promise<{
      readonly uid: string;
      readonly prompt: { readonly name: string };
      readonly params: { readonly client_id: string; readonly scope?: string; readonly login_hint?: string };
    }>;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: object,
      options: { mergeWithLastSubmission: boolean },
    ): Promise<void>;
  }
}
