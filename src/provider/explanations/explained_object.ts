import { ExplainedKind } from "../../../gen/postern/v1/explanation_pb.ts";

/** An object that an explanation refers to. */
export type ObjectShown = { readonly kind: ExplainedKind; readonly id: string; readonly organizationId: string };

export const organizationShown = (id: string): ObjectShown => ({
  kind: ExplainedKind.ORGANIZATION,
  id,
  organizationId: id,
});
