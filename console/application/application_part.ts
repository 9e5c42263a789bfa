import type { ApplicationJson } from "../../gen/postern/v1/application_pb.ts";

/** What a part of an application's page is given. */
export type ApplicationPart = {
  readonly application: ApplicationJson;
  readonly projectId: string;
  readonly onChanged: () => Promise<void>;
};
