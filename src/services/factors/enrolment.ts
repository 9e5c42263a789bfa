import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { FactorKind } from "../../../gen/postern/v1/factor_pb.ts";
import type { Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { type At, factOf, first, type NewFact } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import type { EnrollingUser } from "./enrolling_user.ts";
import { secretContext } from "./factor_read.ts";

type Kind = "totp" | "passkey";

/** How long an enrolment can be confirmed. */
export const enrolmentSeconds = 600;

/** An unconfirmed enrolment, and its secret. */
export type Enrolment = { readonly factorId: string; readonly sealed: Uint8Array; readonly secret: Uint8Array };

const kinds: Readonly<Record<Kind, FactorKind>> = { totp: FactorKind.TOTP, passkey: FactorKind.PASSKEY };

/** Enrolments of one kind; a new one replaces the user's earlier one. */
export function enrolments({ sql, clock, ids, secrets }: Deps, kind: Kind) {
  const read = enrolmentRead(sql);
  const { keyring } = secrets;
  return {
    start(user: EnrollingUser, secret: Uint8Array): { started: NewFact; expirationDate: Timestamp } {
      const at = first(user.owner, ids(), clock());
      const until = new Date(at.time.getTime() + enrolmentSeconds * 1000);
      const sealed = Buffer.from(keyring.seal(secret, secretContext(at.stream))).toString("hex");
      const value = { userId: user.id, kind: kinds[kind] };
      const kept = { kind, sealed, until: until.toISOString(), sessionId: user.session?.id ?? null };
      const started = factOf("factor", at, { case: "enrolmentStarted", value }, kept);
      return { started, expirationDate: timestampFromDate(until) };
    },

    /** Finds the enrolment begun in the same session: one from another session may belong to somebody who only knows the password. */
    async find({ id, session }: EnrollingUser, signal: AbortSignal): Promise<Enrolment> {
      const found = await read({ user: id, kind, session: session?.id ?? "", now: clock().toISOString() }, signal);
      if (!found) throw refuse.because("ENROLMENT_EXPIRED");
      return { ...found, secret: keyring.open(found.sealed, secretContext(found.factorId)) };
    },

    /** The position of the fact that ends an enrolment: after the one that began it. */
    end: ({ owner }: EnrollingUser, { factorId }: Enrolment): At => ({
      ...first(owner, factorId, clock()),
      version: 2n,
    }),
  };
}

const enrolmentRead = (sql: Sql) =>
  loadOne<{ user: string; kind: string; session: string; now: string }, Omit<Enrolment, "secret">>(sql, {
    asked: `"user" text, kind text, session text, now timestamptz`,
    select: `select n, e.factor_id as "factorId", e.sealed from asked join factor_enrolments e
               on e.user_id = asked."user" and e.kind = asked.kind and e.session_id = asked.session and e.expiration_date > asked.now`,
  });
