import { type Config, mailOf, smsOf } from "../config/config.ts";
import { lookAgain } from "../events/follow.ts";
import { startJobs } from "../events/job_runner.ts";
import { expiredEvents } from "../events/retention.ts";
import { startSweep } from "../events/sweep.ts";
import { startLogoutWorker } from "../notify/logout/worker.ts";
import { mailSender } from "../notify/mail/sender.ts";
import { startMailWorker } from "../notify/mail/worker.ts";
import { smsSender } from "../notify/sms/sender.ts";
import { startSmsWorker } from "../notify/sms/worker.ts";
import { startSubscriptionWorker } from "../notify/subscriptions/worker.ts";
import { outwardPosters, outwardTimeoutMs } from "../provider/http/fetcher.ts";
import { issuerOf } from "../provider/http/issuer.ts";
import { endsSessions, logoutSender } from "../provider/logout/logout_token.ts";
import { codePages } from "../provider/mail_pages/code_pages.ts";
import { type SigningKeys, signingKeys } from "../provider/tokens/signing_keys.ts";
import { choresOf, folds } from "../runtime/modules.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { eventJson } from "../services/audit/event.ts";
import { sendsAgain } from "../services/deliveries/delivery_fold.ts";
import { startDomainChecks } from "../services/domains/domain_worker.ts";
import { startPasswordResets } from "../services/passwords/password_reset_worker.ts";
import { sendsMail } from "../services/verification/mail.ts";
import { sendsCode } from "../services/verification/phone_code.ts";
import { returnIdleMemory } from "./idle_memory.ts";

/**
 * Starts the background work: delivering SMS, mails, sign-outs and events, looking up domains, deleting expired data, returning unused
 * memory. The listening port may be part of the issuer, which logout tokens name.
 */
export function startErrands(runtime: Runtime, config: Config, port: number): AsyncDisposable {
  const { deps, logger, instanceId } = runtime;
  const { sql, clock } = deps;
  const onError = (error: unknown, errand: string) =>
    logger.warn({ err: error, errand }, "background work failed; trying again");
  const signing = signingKeys({ ...deps, instanceId });
  const issuer = issuerOf(config, config.port || port);
  const chores = choresOf(runtime, config);
  const parts = { keys: signing, onError: (error: unknown) => onError(error, "sign-outs") };
  const logouts = issuer === undefined ? [] : [deliverLogouts(runtime, config, { ...parts, issuer })];
  return stoppedTogether([
    startSweep({ sql, chores, clock, onError }),
    // The deletion may take hours, and nothing else waits for it.
    startSweep({ sql, work: "retention", chores: expiredEvents(sql, clock), clock, onError }),
    doJobs(runtime, (error) => onError(error, "jobs")),
    deliverSms(runtime, config, (error) => onError(error, "sms")),
    deliverMails(runtime, { ...config, port }, (error) => onError(error, "mail")),
    ...logouts,
    deliverEvents(runtime, config, (error) => onError(error, "subscriptions")),
    lookUpDomains(runtime, config, (error) => onError(error, "domains")),
    writeAttempts(runtime, (error) => onError(error, "attempts")),
    startPasswordResets(deps, config, (error) => onError(error, "password resets")),
    returnIdleMemory(),
  ]);
}

/** Stops everything in parallel: each part may wait for an unresponsive provider, and a stop should only take as long as the slowest. */
const stoppedTogether = (all: readonly (AsyncDisposable | Disposable)[]): AsyncDisposable => ({
  async [Symbol.asyncDispose]() {
    const ended = all.map(async (one) => {
      await using _ = one;
    });
    await Promise.allSettled(ended);
    await Promise.all(ended);
  },
});

type OnError = (error: unknown) => void;

function doJobs({ deps: { sql, clock }, traffic, onAppended }: Runtime, onError: OnError): AsyncDisposable {
  const jobs = startJobs({ sql, folds, clock, traffic, onError });
  onAppended((facts) => {
    if (facts.some(({ type }) => folds.get(type)?.later)) jobs.poke();
  });
  return jobs;
}

const attemptsMs = 1_000;

/** Writes refused attempts every second; a stop writes the rest. */
function writeAttempts({ attempts }: Runtime, onError: OnError): AsyncDisposable {
  const writing = lookAgain({ everyMs: attemptsMs, onError, look: () => attempts.write().then(() => false) });
  return {
    async [Symbol.asyncDispose]() {
      await writing.stop();
      await attempts.write(true).catch(onError);
    },
  };
}

function deliverSms({ deps, onAppended, logger }: Runtime, config: Config, onError: OnError): AsyncDisposable {
  return startSmsWorker({
    sql: deps.sql,
    clock: deps.clock,
    keyring: deps.secrets.keyring,
    sender: smsSender(smsOf(config), deps.clock),
    onWritten: (look) =>
      onAppended((facts) => {
        if (facts.some((fact) => sendsCode(fact) || sendsAgain(fact))) look();
      }),
    text: config.smsText,
    attempts: config.smsAttempts,
    timeoutMs: config.smsTimeoutMs,
    onDelivery: ({ id, userId, attempts }, delivery) => logger.info({ sms: id, userId, attempts, ...delivery }, "sms"),
    onError,
  });
}

function deliverMails({ deps, onAppended, logger }: Runtime, config: Config, onError: OnError): AsyncDisposable {
  return startMailWorker({
    sql: deps.sql,
    clock: deps.clock,
    keyring: deps.secrets.keyring,
    sender: mailSender(mailOf(config), deps.clock),
    onWritten: (look) =>
      onAppended((facts) => {
        if (facts.some((fact) => sendsMail(fact) || sendsAgain(fact))) look();
      }),
    pages: codePages(config),
    attempts: config.mailAttempts,
    timeoutMs: config.mailTimeoutMs,
    onDelivery: ({ id, userId, attempts }, delivery) =>
      logger.info({ mail: id, userId, attempts, ...delivery }, "mail"),
    onError,
  });
}

type LogoutParts = { readonly issuer: string; readonly keys: SigningKeys; readonly onError: OnError };

function deliverLogouts({ deps, onAppended, logger }: Runtime, config: Config, parts: LogoutParts): AsyncDisposable {
  const { issuer, keys, onError } = parts;
  return startLogoutWorker({
    sql: deps.sql,
    clock: deps.clock,
    sender: logoutSender({ deps, keys, issuer, settings: config }),
    onWritten: (look) =>
      onAppended((facts) => {
        if (facts.some((fact) => endsSessions(fact) || sendsAgain(fact))) look();
      }),
    retrySeconds: config.backchannelLogoutSeconds,
    timeoutMs: outwardTimeoutMs,
    onDelivery: ({ id, userId, appId, sessionId, attempts }, delivery) =>
      logger.info({ logout: id, userId, appId, sessionId, attempts, ...delivery }, "logout"),
    onError,
  });
}

function lookUpDomains({ deps, logger }: Runtime, config: Config, onError: OnError): AsyncDisposable {
  return startDomainChecks(deps, config, {
    onChange: ({ id, owner, ...change }) => logger.info({ domain: id, organization: owner, ...change }, "domain"),
    onError,
  });
}

const eventTimeoutMs = 15_000;

function deliverEvents({ deps, tail, logger }: Runtime, config: Config, onError: OnError): AsyncDisposable {
  return startSubscriptionWorker({
    sql: deps.sql,
    clock: deps.clock,
    keyring: deps.secrets.keyring,
    openPoster: outwardPosters(config, eventTimeoutMs),
    bodyOf: (event) => JSON.stringify(eventJson(event)),
    // A node that numbers events wakes their subscriptions before its tail reports them.
    onWritten: (look) => tail.listen({ events: look, lost: look }),
    retrySeconds: config.subscriptionRetrySeconds,
    timeoutMs: eventTimeoutMs,
    onDelivery: ({ id, owner, url }, { progress: { accepted }, ...delivery }) => {
      const told = { subscription: id, organization: owner, host: new URL(url).host, accepted, ...delivery };
      if (accepted > 0 || delivery.kind !== "delivered") logger.info(told, "subscription");
    },
    onError,
  });
}
