import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { FactorRefusal } from "../../../gen/postern/v1/factor_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import type { FactorRow } from "./factor_read.ts";

export { FactorRefusal };

/** A factor that failed at sign-in, the reason, and the end of the wait that follows. */
export type RefusedFactor = {
  readonly user: { readonly owner: string; readonly id: string };
  /** Absent if the user has none of the kind, or it was not looked up. */
  readonly factorId?: string;
  readonly reason: FactorRefusal;
  readonly until?: Date | undefined;
};

/** Makes the function that records refused factors, so that operators notice guessing and cloned keys. */
export const factorRefusals =
  ({ noteAttempt }: Pick<Deps, "noteAttempt">) =>
  ({ user, factorId, reason, until }: RefusedFactor, call: Call): void => {
    const value = {
      reason,
      ...(factorId === undefined ? {} : { factorId }),
      ...(until ? { until: timestampFromDate(until) } : {}),
    };
    noteAttempt({ case: "factorRefused", value }, user, call);
  };

/** The user and the id of a factor. */
export const namesOf = ({ owner, userId, id }: FactorRow) => ({ user: { owner, id: userId }, factorId: id });

export type RecordRefusal = ReturnType<typeof factorRefusals>;
