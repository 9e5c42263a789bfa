import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { DescMethod } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ExplanationService } from "../gen/postern/v1/explanation_pb.ts";
import { keys, newId, systemCall } from "../src/deps.ts";
import { countedAttempts, reserve } from "../src/events/attempt_places.ts";
import { asSharedJson, statementFor } from "../src/events/fold.ts";
import { batches } from "../src/events/job.ts";
import { numberAll } from "../src/events/numbering.ts";
import { postponeLogouts, takeLogouts } from "../src/notify/logout/outbox.ts";
import { takeMails } from "../src/notify/mail/outbox.ts";
import { take as takeSms } from "../src/notify/sms/outbox.ts";
import { folds } from "../src/runtime/modules.ts";
import { keyring } from "../src/security/seal.ts";
import { documentApplications } from "../src/services/applications/document_application.ts";
import { unjudgedApplications } from "../src/services/applications/judge_applications.ts";
import { beginAt } from "../src/services/audit/event_watch.ts";
import { expiredBearers } from "../src/services/callers/bearer_chores.ts";
import { useWrite } from "../src/services/callers/bearer_use.ts";
import * as reads from "../src/services/callers/caller_lookups.ts";
import { freshSignInRead } from "../src/services/callers/fresh_sign_in.ts";
import { checkRecord, noteCheck } from "../src/services/domains/domain_check.ts";
import { takeDomains } from "../src/services/domains/domain_worker.ts";
import { factorChores, resealedFactors } from "../src/services/factors/factor_chores.ts";
import { expiredInvitations } from "../src/services/invitations/invitation_chores.ts";
import { jobsOfEarlierReleases, oldJobs } from "../src/services/jobs/job.ts";
import { knownAttempts, rememberBrowser, reserveKnown } from "../src/services/passwords/known_browser.ts";
import { countFailure } from "../src/services/passwords/name_wait.ts";
import { passwordChores } from "../src/services/passwords/password_chores.ts";
import { answerRequests } from "../src/services/passwords/password_reset_worker.ts";
import { projectNamesRead } from "../src/services/projects/project_names.ts";
import { expiredRegistrations } from "../src/services/registrations/registration_chores.ts";
import { linkSignIn } from "../src/services/sessions/link_session.ts";
import { callSession } from "../src/services/sessions/new_session.ts";
import { sessionChores } from "../src/services/sessions/session_chores.ts";
import { resealedSubscriptions } from "../src/services/subscriptions/subscription_secret.ts";
import { grantCondition } from "../src/services/user_grants/add_user_grant.ts";
import { emailUndo } from "../src/services/users/email_undo.ts";
import { dueErasures } from "../src/services/users/erasure.ts";
import { codeChores } from "../src/services/verification/code_chores.ts";
import { forgetAnswer } from "../src/services/writing/forget_answer.ts";
import { factorCalls } from "./fixture/factor_calls.ts";
import { withPasskey, withTotp } from "./fixture/factors.ts";
import { type Fixture, fixtureOf, lentFixtureOf } from "./fixture/organization.ts";
import { withMailbox } from "./fixture/sign_in_mail.ts";
import { factorRows } from "./guards/factor_rows.ts";
import { type Row, rows } from "./guards/matrix_rows.ts";
import { organization, type Postern, signedUp, startPostern } from "./harness.ts";
import { application } from "./provider/application.ts";
import { lineOf, nodesOf, openProgram, root } from "./rules/tree.ts";
import { piecesOf, words } from "./rules/written_statements.ts";
import { type HandlerCall, type Handlers, openHandlers } from "./sent_statements.ts";
import { codeTo, invite } from "./services/invitations/invited.ts";
import { receiver } from "./services/invitations/received.ts";
import { registrationCalls } from "./services/registrations/registering.ts";
import {
  apiCalls,
  apiDomain,
  applicationCalls,
  callsInside,
  grantsInState,
  offersTo,
  organizationCalls,
  secondOfSearch,
  secondPage,
  together,
  unsent,
  userQueries,
} from "./statement_calls.ts";

const folder = join(root, "test/statements");
const there = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".sql"));
const shown = new Map<string, string>();
const factsFile = (name: string) => join("facts", `${name}.sql`);

let postern: Postern;
let handlers: Handlers;
beforeAll(async () => {
  postern = await startPostern();
  handlers = openHandlers(postern);
});
afterAll(async () => {
  await handlers?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
});

/** Compares a file with the statements that it shows. */
async function show(file: string, statements: readonly string[]): Promise<void> {
  const text = `${statements.map(ended).join("\n\n")}\n`;
  shown.set(file, text);
  await expect(text).toMatchFileSnapshot(join(folder, file));
}

const ended = (statement: string) => (statement.startsWith("--") ? statement : `${readable(statement)};`);

/** The lines of a statement without the indentation of the code that they stood in. */
function readable(statement: string): string {
  const [first = "", ...rest] = statement.trim().split("\n");
  const indents = rest.filter((line) => line.trim()).map((line) => line.length - line.trimStart().length);
  const common = Math.min(...indents, Number.MAX_SAFE_INTEGER);
  return [first.trimEnd(), ...rest.filter((line) => line.trim()).map((line) => line.slice(common).trimEnd())].join(
    "\n",
  );
}

const appending = new Map([
  ...[...folds.keys()].map((type) => [statementFor([type], folds), type] as const),
  ...together.map((types) => [statementFor(types, folds), types.join("_and_")] as const),
]);

/** The statements that a handler sent; in place of the statement that appends facts, the file that shows it. */
const sent = (statements: readonly string[]): string[] =>
  statements.map((text) => {
    const type = appending.get(text);
    return type ? `-- appends: ${factsFile(type)}` : text;
  });

test("each type of fact is appended by the statement of its file", async () => {
  for (const [text, type] of appending) await show(factsFile(type), [text]);
});

test("an answer is recorded by the statement that appends the facts, and forgotten by one of its own", async () => {
  const recordsAnswers = true;
  await show("recorded_answers.sql", [
    statementFor(["user_grant.deactivated"], folds, { recordsAnswers }),
    statementFor(["user_grant.added"], folds, { recordsAnswers, condition: grantCondition }),
  ]);
  handlers.heard();
  const none = { request: Buffer.of(), seal: () => Buffer.of(), created: new Date() };
  const call = systemCall("r");
  call.values.set(keys.idempotency, { caller: "c", operation: "o", key: "k", ...none });
  await forgetAnswer(handlers.deps.sql, call);
  await show("forgotten_answers.sql", handlers.heard());
});

test("a fold reads the facts of its own type only", () => {
  const texts = [...folds.values()].flatMap(({ views = [], credentials = [], cascades = [] }) => [
    ...views,
    ...credentials,
    ...cascades.map(({ select }) => select),
  ]);
  expect(texts.filter((text) => /(?<!\$)\b(facts|input)\b/.test(text))).toEqual([]);
  expect(texts.filter((text) => /\$(facts|input)\b/.test(text)).length).toBeGreaterThan(50);
});

test("the first start appends its facts by the statement of its file", async () => {
  const [start] = await handlers.deps.sql<{ types: string[] }[]>`
    select array_agg(distinct type order by type) as types from events
    where request_id = (select request_id from events order by position limit 1)`;
  expect(start?.types.length).toBeGreaterThan(1);
  await show(factsFile("first_start"), [statementFor(start?.types ?? [], folds)]);
});

test("each rpc sends the statements of its file", async () => {
  // A watch reads the log in stretches of 5,000 events.
  await handlers.deps.sql`
    insert into events (owner, stream, version, type, payload, actor, request_id, time)
    select ${postern.organizationId}, 'object' || n, 1, 'project.created', '{"name": "Year"}', 'actor', 'load', now()
    from generate_series(1, 6000) n`;
  await numberAll(handlers.deps.sql);
  const more = await furtherCalls();
  const fixture = await fixtureOf(postern, postern.organizationId);
  for (const method of handlers.methods) {
    const name = `${method.parent.name}.${method.name}`;
    const calls = [...(await usualCalls(method, fixture)), ...(more[name] ?? [])];
    handlers.heard();
    for (const call of calls) await handlers.run(method, call);
    const statements = sent(handlers.heard());
    await show(`${name}.sql`, [...new Set(pagesRead.includes(name) ? statements.filter(isOfEveryList) : statements)]);
  }
});

const pagesRead = ["EventService.ListEvents", "UserExportService.ExportUser"];

/** Whether a list sends it always, and not only when a worker of the service appended an event a moment ago that has no number yet. */
const isOfEveryList = (statement: string) => !/number_events\(|from event_numbers numbered$/m.test(statement);

// A row of the matrix is refused here: its password or its code is wrong, or its caller holds nothing.
const refusedRows = [
  ...["AccountService.ChangePassword", "AccountService.EraseMe", "AccountService.ResetPassword"],
  ...["SessionService.CreateSession", "DeliveryService.RetryDelivery"],
  "EventService.WatchEvents",
  ...Object.entries(factorRows).flatMap(([rpc, { needs }]) => (needs === "caller" ? [rpc] : [])),
  ...["CompleteSession", "CreatePasskeySession", "CreateMailSession"].map((one) => `SessionService.${one}`),
  ...["InvitationService.AcceptInvitation", "InvitationService.DeclineInvitation"],
  ...["RegistrationService.RequestRegistration", "RegistrationService.CompleteRegistration"],
];

/** The call that the matrix of permissions makes, and the one for the second page where there are pages. */
async function usualCalls(method: DescMethod, fixture: Fixture): Promise<HandlerCall[]> {
  const name = `${method.parent.name}.${method.name}`;
  if (refusedRows.includes(name)) return [];
  const request = JSON.parse(JSON.stringify(await (rows[name] as Row).request(fixture)));
  return [{ request }, ...secondPage(method, request)];
}

/** A person whose organization lets people delete their accounts. */
async function leaver() {
  const organizationId = await organization(postern);
  const policy = { restoreDays: 7, selfErasure: true };
  await postern.admin.put("/v1/policies/privacy", { policy }, { "x-service-orgid": organizationId });
  return { organizationId, userId: (await signedUp(postern, { organizationId })).userId };
}

/** Calls of the rpcs that ask something else of the database when their requests are others. */
async function furtherCalls(): Promise<Readonly<Record<string, readonly HandlerCall[]>>> {
  const fixture = await fixtureOf(postern, postern.organizationId);
  const lent = await lentFixtureOf(postern, fixture, await organization(postern));
  const guest = { organizationId: lent.organizationId };
  const [changing, { userId, username, password }] = [await signedUp(postern), await signedUp(postern)];
  const leaving = await leaver();
  await postern.admin.post("/v1/domains", { name: apiDomain, withoutDns: true });
  const someReach = { reach: { whole: false, organizations: ["o"], projects: ["p"], projectGrants: ["g"] } } as const;
  const events = (await postern.admin.get("/v1/events?pageSize=2")).body.events;
  const everything = { objectId: "o", actorId: "a", types: ["user.locked"], since: time, until: time };
  const person = { username: "someone", givenName: "Ada", familyName: "Byron", email: "ada@example.com" };
  const { projectId } = fixture;
  const [withApp, holder] = [await withTotp(postern), await withPasskey(postern)];
  const invited = `/v1/users/${await fixture.newUser()}:invite`;
  const { verificationCode } = (await postern.admin.post(invited, { returnCode: {} })).body;
  const memberships = [{ roles: ["PROJECT_VIEWER"], projectId }];
  const grants = [{ projectId, roleKeys: ["viewer"] }];
  const invitedCode = async (email: string) => {
    await invite(postern.admin, { email, memberships, grants });
    return codeTo(postern, email);
  };
  return {
    ...offersTo(await receiver(postern), projectId),
    "InvitationService.AcceptInvitation": [{ userId, request: { code: await invitedCode(`${username}@example.com`) } }],
    "InvitationService.DeclineInvitation": [{ request: { code: await invitedCode("someone@example.com") } }],
    ...(await registrationCalls(postern)),
    ...callsInside(postern.organizationId, await fixture.newDelivery()),
    "AccountService.GetMe": [{ request: { projectId } }],
    "AccountService.ChangePassword": [
      {
        userId: changing.userId,
        request: { oldPassword: changing.password, newPassword: "Green-Teapot-77" },
      },
    ],
    "AccountService.EraseMe": [{ userId: leaving.userId, organizationId: leaving.organizationId, request: {} }],
    ...(await factorCalls(postern)),
    "AccountService.ResetPassword": [{ request: { verificationCode, newPassword: "Green-Teapot-77" } }],
    "SessionService.CreateSession": [
      { request: { loginName: username, password } },
      { request: { loginName: username, password, newPassword: "Green-Teapot-77" } },
      ...[withApp, holder].map((one) => ({ request: { loginName: one.username, password: one.password } })),
    ],
    "EventService.ListEvents": [
      { request: everything },
      { request: { instance: true } },
      { request: { actorId: "none" } },
      { request: { aboutUserId: "none", projectId: "none" } },
      { request: { onBehalfOfId: "none", actorId: "none" } },
      { request: { types: ["user.deleted", "user.locked"] } },
      { request: { projectId: "p", objectId: "o" }, ...someReach },
    ],
    "EventService.WatchEvents": [
      { request: {}, isLeft: true },
      { request: { after: events.at(-1)?.position } },
      { request: { after: "0" } },
      { request: { after: "1.740.58~3.1" } },
    ],
    "JobService.ListJobs": [
      { request: { state: "JOB_STATE_RUNNING" } },
      { request: { state: "JOB_STATE_ENDED" } },
      { request: { instance: true } },
      { request: {}, ...someReach },
    ],
    "SubscriptionService.CreateSubscription": [{ request: { url: "https://receiver.example", after: "0" } }],
    ...organizationCalls(someReach),
    "ProjectService.ListProjects": [
      { request: { includeGranted: true } },
      { request: { includeGranted: true }, ...someReach },
      { request: { includeGranted: true, filter: { search: "some" } }, ...someReach },
      { request: { includeGranted: true, filter: { state: "PROJECT_STATE_INACTIVE" } } },
    ],
    "ApplicationService.CreateApiApplication": apiCalls(projectId),
    "ApplicationService.ListApplications": applicationCalls(projectId),
    "ProjectService.ListProjectRoles": [
      { request: { projectId, filter: { search: "some" } } },
      { request: { projectId }, ...guest },
      { request: { projectId, filter: { search: "some" } }, ...guest },
    ],
    "ProjectService.ListProjectGrants": [
      { request: { projectId }, ...guest },
      { request: { projectId, filter: { roleKey: "r" } } },
      { request: { projectId, filter: { roleKey: "r", grantedOrganizationId: "o" } } },
    ],
    "MemberService.ListMembers": [
      { request: { filter: { role: "ORG_OWNER" } } },
      { request: { filter: { role: "ORG_OWNER", userId: "u" } } },
    ],
    "UserGrantService.ListUserGrants": [
      { request: { userId: "u", projectId: "p", roleKey: "r" }, ...someReach },
      { request: { userId: "u" } },
      { request: { userId: "u" }, ...someReach },
      { request: { projectId: "p", roleKey: "r" }, ...someReach },
      { request: { projectId: "x" }, ...someReach },
      { request: {}, ...someReach },
      ...["ACTIVE", "INACTIVE"].flatMap((name) => grantsInState(`USER_GRANT_STATE_${name}`)),
      ...["ACTIVE", "INACTIVE"].map((name) => ({ request: { state: `USER_GRANT_STATE_${name}` }, ...someReach })),
      ...[{}, { userId: "u" }, { projectId: "p", roleKey: "r" }].map((of) => ({
        request: { ...of, expiresBefore: time },
      })),
      { request: { expiresBefore: time }, ...someReach },
    ],
    "UserService.ListUsers": [...userQueries, secondOfSearch()].map((request) => ({ request })),
    "UserService.CreateHumanUser": [{ request: { ...person, phone: "+41446681800", password: "Blue-Kettle-42" } }],
    "UserService.ChangePhone": [{ request: { userId, phone: "+41446681801" } }],
  };
}

const time = "2026-01-01T00:00:00Z";

test("each question of the guards is the statement of its file", async () => {
  const { sql } = handlers.deps;
  for (const [name, read] of Object.entries(reads)) {
    handlers.heard();
    await asked(read(sql) as (key: never) => Promise<unknown>, name);
    await show(join("guards", `${name}.sql`), handlers.heard());
  }
  await freshSignInRead(handlers.deps, postern.config)({ userId: "00", sessionId: undefined });
  await show(join("guards", "freshSignInRead.sql"), handlers.heard());
});

async function asked(read: (key: never) => Promise<unknown>, name: string): Promise<void> {
  const record = { caller: "c", operation: "o", key: "k", loginName: "00" };
  await read((["doneBeforeRead", "userOfLoginNameRead"].includes(name) ? record : "00") as never);
}

test("what is over is cleared away by the statements of its file", async () => {
  await withTotp(postern);
  const { deps } = handlers;
  const rotated = { ...deps, secrets: { ...deps.secrets, keyring: keyring([randomBytes(32), ...masterKeys()]) } };
  const [sessions, signIns] = sessionChores(deps);
  const [sends, mails, codes] = codeChores(deps, postern.config);
  const [requests, ...counts] = passwordChores(deps);
  const [enrolments, challenges] = factorChores(deps);
  const chores = [
    ...[sessions, expiredBearers(deps), sends, mails, requests, enrolments, signIns, challenges, ...counts],
    ...[countedAttempts(deps.sql, deps.clock), codes],
    oldJobs(deps),
    dueErasures(deps),
    ...[expiredInvitations(deps), expiredRegistrations(deps), unjudgedApplications(deps)],
    jobsOfEarlierReleases(deps),
    resealedFactors(rotated),
    resealedSubscriptions(rotated),
  ];
  handlers.heard();
  for (const chore of chores) await chore?.batch(10);
  await show("expiry.sql", handlers.heard());
});

const masterKeys = () => postern.config.masterKeys ?? [];

test.each([...folds].flatMap(([type, { later }]) => (later ? [[type, later] as const] : [])))(
  "a job of %s is done by the statements of its file",
  async (type, { steps }) => {
    const nextBatch = batches(handlers.deps.sql, folds);
    const [id, time] = ["00", new Date()];
    const job = {
      id,
      owner: "00",
      type,
      stream: "00",
      version: 1n,
      payload: {},
      actor: "00",
      requestId: "00",
      origin: null,
    };
    handlers.heard();
    for (const step of [...steps.keys(), steps.length])
      await nextBatch({ job, checkpoint: { step, wrote: false }, most: 10, time });
    await show(join("jobs", `${type}.sql`), handlers.heard());
  },
);

test("failed sign-ins and known browsers are counted by the statements of their file", async () => {
  const { userId } = await signedUp(postern);
  const { deps } = handlers;
  const [of, now] = [{ userId, hash: "00" }, new Date()];
  const lockout = { maximumAttempts: 1, lockSeconds: null, untilUnlocked: false };
  const standing = { subject: userId, userId, owner: postern.organizationId, known: null, waitUntil: null, lockout };
  handlers.heard();
  for (let failures = 0; failures < 2; failures++) await countFailure(deps.sql, standing, now);
  await rememberBrowser(deps.sql, { ...of, now, earlier: [], sessionId: "none", notice: {} });
  await reserveKnown(deps.sql, of);
  await knownAttempts(deps.sql, of).giveBack();
  await knownAttempts(deps.sql, of).clear();
  await show("sign_in_failures.sql", [...new Set(handlers.heard())]);
});

test("commands that share a statement wait for no lock for long, by the statement of its file", async () => {
  const text = statementFor(["user_grant.removed"], folds, { given: asSharedJson });
  await show("shared_commands.sql", [text]);
  const { sql } = handlers.deps;
  expect(await sql.unsafe(text, ["[]"])).toHaveLength(1);
});

test("the use of an access token is noted by the statement of its file", async () => {
  handlers.heard();
  await useWrite(handlers.deps.sql)({ hash: "00", time: new Date().toISOString(), origin: undefined });
  await show("bearer_use.sql", handlers.heard());
});

test("places of attempts are reserved by the statement of their file", async () => {
  handlers.heard();
  const of = { owner: postern.organizationId, userId: "somebody", type: "attempt.password_refused" };
  expect((await reserve(handlers.deps.sql, 0, [{ of }])).granted).toHaveLength(1);
  await show("attempt_places.sql", handlers.heard());
});

test.each([
  ["password_resets.sql", "login_name", "attempt.password_reset_requested"],
  ["sign_in_mails.sql", "sign_in_name", "attempt.sign_in_code_requested"],
])("requests for mails are answered by the statements of their file: %s", async (file, column, fact) => {
  const { username } = await withMailbox(postern, { organizationId: await organization(postern) });
  const { sql } = handlers.deps;
  // The worker of the service may be faster: then another request is made.
  const answered = async () => {
    await sql`delete from password_reset_requests`;
    await sql`insert into password_reset_requests (request_id, ${sql(column)}, language) values (${newId()}, ${username}, 'en')`;
    handlers.heard();
    await answerRequests(handlers.deps, postern.config);
    const statements = sent(handlers.heard());
    expect(statements).toContain(`-- appends: ${factsFile(fact)}`);
    return statements;
  };
  await show(file, await vi.waitFor(answered, { timeout: 60_000 }));
});

test("messages and domains are taken in turns, and postponed, by the statements of their file", async () => {
  const { sql } = handlers.deps;
  const turn = { most: 1, leaseSeconds: 60, rooms: new Map(), roomOfOthers: 1, after: "" };
  handlers.heard();
  for (const take of [takeLogouts, takeMails, takeSms, takeDomains]) await take(sql, turn);
  await postponeLogouts(sql, { id: "m", appId: "a", attempts: 1 }, { failure: "f", seconds: 1 });
  await checkRecord(handlers.deps)({ owner: "o", id: "d" }, { result: "missing", answer: "" }, systemCall("r"));
  await noteCheck(sql, "d", { result: "missing", answer: "" });
  await show("outboxes.sql", handlers.heard());
});

test("a sign-in that is possible is explained by the statements of its file", async () => {
  const { userId } = await signedUp(postern);
  const declaredClaims = [{ name: "team", userMetadata: "team", places: ["CLAIM_PLACE_ID_TOKEN"] }];
  const { projectId, appId } = await application(postern.admin, { declaredClaims });
  handlers.heard();
  const request = { projectId, appId, userId, scopes: ["openid"] };
  const { organizationId } = postern;
  await handlers.run(ExplanationService.method.explainSignIn, { request, userId, organizationId });
  await show("explanation.sql", handlers.heard());
});

test("a client that brings its own document becomes an application by the statement of its file", async () => {
  const { projectId } = await application(postern.admin);
  handlers.heard();
  const client = { owner: postern.organizationId, projectId, clientId: "https://app.example/client.json" };
  await documentApplications(handlers.deps)(client, systemCall("r"));
  await show("client_document.sql", handlers.heard());
});

test("pages look for codes and the names of projects by the statements of their files", async () => {
  handlers.heard();
  await projectNamesRead(handlers.deps.sql)(["p"]);
  await show("project_names.sql", handlers.heard());
  const undo = emailUndo(handlers.deps, postern.config);
  await expect(undo("none", systemCall("r"))).rejects.toThrow();
  await show("email_undo.sql", handlers.heard());
  const link = { code: "none", newPassword: undefined, isHere: true, call: systemCall("r") };
  const signIn = linkSignIn(handlers.deps, postern.config);
  await expect(signIn(link, callSession(postern.config))).rejects.toThrow();
  await show("administrator_links.sql", handlers.heard());
});

test("a position whose history the log lost is answered by the statements of its file", async () => {
  handlers.heard();
  const filter = { owner: "o", objectId: "", actorId: "", aboutUserId: "", projectId: "", onBehalfOfId: "", types: [] };
  const lost = beginAt(handlers.deps.sql, filter, { number: 9n, batch: "0123456789abcdef" });
  await expect(lost).rejects.toThrow();
  await show("history_lost.sql", handlers.heard());
});

test("every file shows statements that are sent", () => {
  // One that is missing is written by this run: it belongs to the change.
  expect([...shown.keys()].sort()).toEqual(there.sort());
});

test("every statement that the services compose is in a file", () => {
  using program = openProgram(["src/services"]);
  const all = [...shown].map(([, text]) => words(text)).join("\n");
  const pieces = program.sources.flatMap(({ path, ast }) =>
    [...nodesOf(ast)].flatMap((node) => piecesOf(node).map((text) => ({ at: `${path}:${lineOf(ast, node)}`, text }))),
  );
  expect(pieces.length).toBeGreaterThan(100);
  const hidden = pieces.filter(({ text }) => !all.includes(text) && !unsent.includes(text));
  expect(hidden).toEqual([]);
});
