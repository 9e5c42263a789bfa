import { ClaimPlace, type OidcConfiguration } from "../../../gen/postern/v1/application_pb.ts";
import type { Violation } from "../../errors.ts";
import { isReservedClaim } from "../../security/reserved_claim.ts";

/** Finds declared claims without a source, with a reserved name, or with a name that another claim has. */
export function declaredViolations({ declaredClaims }: Pick<OidcConfiguration, "declaredClaims">): Violation[] {
  const names = declaredClaims.map(({ name }) => name.toLowerCase());
  return declaredClaims.flatMap(({ name, source, places }, n): Violation[] => {
    const field = `declaredClaims[${n}]`;
    const earlier = names.indexOf(name.toLowerCase());
    return [
      ...(source.case === undefined ? [{ field, text: "CLAIM_SOURCE", reason: "REQUIRED" } as const] : []),
      ...(isReservedClaim(name)
        ? [{ field: `${field}.name`, text: "CLAIM_RESERVED", reason: "CLAIM_RESERVED" } as const]
        : []),
      ...places.flatMap((place, at) => (place === ClaimPlace.UNSPECIFIED ? [required(`${field}.places[${at}]`)] : [])),
      ...(earlier < n ? [repeated(`${field}.name`, `declaredClaims[${earlier}].name`)] : []),
    ];
  });
}

const required = (field: string): Violation => ({ field, text: "FIELD_REQUIRED", reason: "REQUIRED" });

const repeated = (field: string, other: string): Violation => ({
  field,
  text: "ITEM_REPEATED",
  params: { other },
  reason: "REPEATED",
});
