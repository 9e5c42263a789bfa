import type { DescMethodUnary, JsonObject } from "@bufbuild/protobuf";
import { AccountService } from "../../gen/postern/v1/account_pb.ts";
import { ApplicationService } from "../../gen/postern/v1/application_pb.ts";
import { UserGrantService } from "../../gen/postern/v1/user_grant_pb.ts";
import { UserService } from "../../gen/postern/v1/user_pb.ts";
import { phoneOf } from "../fixture/recipes.ts";
import { idOf, role } from "../fixture/seed.ts";
import { isTrouble, type Outcome } from "./caller.ts";

/** A user of its own for each writer, with a project for its applications. */
export type Subject = {
  readonly number: number;
  readonly userId: string;
  readonly loginName: string;
  readonly password: string;
  /** The token of a session of the user. */
  readonly token: string;
};

/** A write and the effect that it has in the log, in the words of `effectsOf`. */
export type Write = { readonly request: JsonObject; readonly effect: string };

/** The writes of one writer. */
export type Operation = {
  readonly method: DescMethodUnary;
  /** Whether the user makes the call, and not the administrator. */
  readonly own: boolean;
  readonly write: (n: number) => Write;
  /** Takes the outcome of the last write; returns whether that outcome can be. */
  readonly learn: (outcome: Outcome) => boolean;
  /** The passwords that the user may have now. */
  readonly passwords: () => readonly string[];
};

/** The operations, each about objects of the subject's own. */
export const operations: Readonly<Record<string, (subject: Subject) => Operation>> = {
  addUserGrant: ({ userId, password }) => ({
    ...{ method: UserGrantService.method.addUserGrant, own: false, learn: isTrouble, passwords: () => [password] },
    write: (n) => {
      const projectId = idOf("project", n);
      return { request: { userId, projectId, roleKeys: [role] }, effect: `grant ${userId} ${projectId}` };
    },
  }),
  changePhone: ({ userId, number, password }) => ({
    ...{ method: UserService.method.changePhone, own: false, learn: isTrouble, passwords: () => [password] },
    write: (n) => {
      const phone = phoneOf(number * 100_000 + n);
      return { request: { userId, phone, returnCode: {} }, effect: `phone ${userId} ${phone}` };
    },
  }),
  createOidcApplication: ({ number, password }) => ({
    method: ApplicationService.method.createOidcApplication,
    ...{ own: false, learn: isTrouble, passwords: () => [password] },
    write: (n) => {
      const [projectId, name] = [idOf("project", number), `Application ${n}`];
      const request = { projectId, name, redirectUris: ["https://example.com/callback"] };
      return { request, effect: `application ${projectId} ${name}` };
    },
  }),
  changePassword,
};

/** Changes of a password: after an unknown outcome the user has the old one or the new one. */
function changePassword({ userId, number, password }: Subject): Operation {
  let candidates = [password];
  let last = password;
  return {
    ...{ method: AccountService.method.changePassword, own: true, passwords: () => candidates },
    write(n) {
      last = `Blue-Kettle-${number}-${n}`;
      return { request: { oldPassword: candidates[0] ?? "", newPassword: last }, effect: `password ${userId}` };
    },
    learn(outcome) {
      if (outcome.kind === "acknowledged") candidates = [last];
      else if (outcome.kind === "unknown") candidates.push(last);
      else if (outcome.why === "PASSWORD_MISMATCH" && candidates.length > 1) candidates.shift();
      else return isTrouble(outcome);
      return true;
    },
  };
}

/** Counts the effects of operations in the log. */
export const effectsStatement = `
  select case type
    when 'user_grant.added' then concat_ws(' ', 'grant', payload->>'userId', payload->>'projectId')
    when 'user.phone_changed' then concat_ws(' ', 'phone', stream, payload->>'phone')
    when 'application.oidc_created' then concat_ws(' ', 'application', payload->>'projectId', payload->>'name')
    else concat_ws(' ', 'password', stream) end as effect, count(*)::int as count
  from events
  where type in ('user_grant.added', 'user.phone_changed', 'application.oidc_created', 'user.password_changed')
  group by 1`;
