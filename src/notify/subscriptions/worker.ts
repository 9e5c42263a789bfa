import type { StoredEvent } from "../../events/follow.ts";
import type { Position } from "../../events/position.ts";
import { stretchAfter } from "../../events/stretch.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { type WorkedFor, workFor } from "../../security/current_share.ts";
import type { Keyring } from "../../security/seal.ts";
import { subscriptionSecretContext } from "../../security/webhook_secret.ts";
import {
  backoffSeconds,
  type Delivery,
  type DeliveryOptions,
  failureOf,
  isUnanswered,
  startDeliveries,
} from "../deliveries.ts";
import { retryAfterSeconds } from "../retry_after.ts";
import { hostOf, type Outcome, rememberSilence, type Silences } from "../silence.ts";
import { signedHeaders } from "../webhook.ts";
import { postInOrder } from "./in_order.ts";
import {
  burySubscription,
  goOn,
  type LeasedSubscription,
  postponeSubscription,
  rest,
  takeSubscriptions,
  waitForHost,
  wantedBy,
} from "./outbox.ts";

/** The status of a whole response, and its headers. */
type Posted = { readonly status: number; readonly headers: Readonly<Record<string, string | string[] | undefined>> };

/** Posts to the URIs of receivers; throws if there is no whole response. Disposed of with the delivery. */
export type Poster = Disposable & {
  readonly post: (uri: string, headers: Readonly<Record<string, string>>, body: string) => Promise<Posted>;
};

/** The progress of a delivery, and whether it has reached the end of the log. */
type Progress = { readonly at: Position; readonly accepted: number; readonly isAtEnd: boolean };

type SubscriptionDelivery = Delivery & { readonly progress: Progress };

export type SubscriptionWorkerOptions = Pick<
  DeliveryOptions<LeasedSubscription>,
  "onWritten" | "timeoutMs" | "everyMs" | "onError"
> & {
  readonly sql: Sql;
  readonly keyring: Keyring;
  readonly clock: () => Date;
  readonly openPoster: () => Poster;
  /** The JSON of an event. */
  readonly bodyOf: (event: StoredEvent) => string;
  /** How long deliveries are retried at a receiver that accepts nothing. */
  readonly retrySeconds: number;
  /** Called with the outcome of each delivery, for the log. */
  readonly onDelivery: (subscription: LeasedSubscription, delivery: SubscriptionDelivery) => void;
};

/** Delivers the events of subscriptions, each from its position in the log. */
export function startSubscriptionWorker(options: SubscriptionWorkerOptions): AsyncDisposable {
  const silences = rememberSilence(options.timeoutMs, { ofAll: true });
  return startDeliveries<LeasedSubscription, SubscriptionDelivery>({
    onWritten: options.onWritten,
    timeoutMs: options.timeoutMs,
    everyMs: options.everyMs,
    onDelivery: options.onDelivery,
    onError: options.onError,
    take: (turn) => takeSubscriptions(options.sql, turn),
    deliver: (subscription) => deliver({ ...options, silences }, subscription),
    settle: (subscription, delivery) => settle(options.sql, subscription, delivery),
  });
}

type WithSilences = SubscriptionWorkerOptions & { readonly silences: Silences };

async function deliver(options: WithSilences, subscription: LeasedSubscription): Promise<SubscriptionDelivery> {
  const { owner, id, url, paused, number, batch } = subscription;
  const begin: Progress = { at: { number, batch }, accepted: 0, isAtEnd: paused };
  if (paused) return { kind: "superseded", progress: begin };
  const to = { owner, receiver: id, host: hostOf(url) };
  const seconds = options.silences.wait(to);
  // Deliveries that wait for the same host do not all come back at once.
  const wait = { failure: "its host does not answer", seconds: seconds * (1 + Math.random()) };
  if (seconds > 0) return untried(begin, wait);
  const { progress, error, isCut } = await deliverSome(options, subscription, begin);
  options.silences.ended(to, outcomeOf({ progress, error }));
  if (isCut && progress.accepted === 0) return untried(progress, { failure: "the log cannot be read", seconds: 1 });
  if (error === undefined) return { kind: "delivered", progress };
  return { ...failed(options, subscription, { progress, error }), progress };
}

type Wait = { readonly failure: string; readonly seconds: number };

const untried = (progress: Progress, { failure, seconds }: Wait): SubscriptionDelivery => ({
  kind: "postponed",
  failure,
  seconds,
  isUntried: true,
  progress,
});

/** A turn that had nothing to post says nothing about the host. */
function outcomeOf({ progress: { accepted }, error }: Ended): Outcome {
  if (error !== undefined && isUnanswered(error)) return "unanswered";
  return error === undefined && accepted > 0 ? "answered" : "failed";
}

const mostAtOnce = 64;
// A subscription gives its place to others after the first, and begins no post after the second, long before its lease ends.
const turnMs = 2_000;
const mostMs = 30_000;

/** The progress of a turn, the error with which the receiver ended it, and whether the database did. */
type Ended = { readonly progress: Progress; readonly error?: unknown; readonly isCut?: boolean };

/** Delivers one stretch of the log after another, until a receiver refuses, the log ends, or others have their turn. */
async function deliverSome(
  options: SubscriptionWorkerOptions,
  subscription: LeasedSubscription,
  begin: Progress,
): Promise<Ended> {
  const since = performance.now();
  const secrets = secretsOf(options, subscription);
  if (!secrets) return { progress: begin, error: new Error("no master key opens its secret") };
  using poster = options.openPoster();
  const post = poster.post;
  let progress = begin;
  do {
    const read = await nextStretch(options, subscription, progress.at);
    if (read === "unread") return { progress, isCut: true };
    if (read === "lost")
      return { progress, error: new Error("the log lost the position; replay the subscription from another") };
    const { events, upTo, isMore } = read;
    const isOver = () => performance.now() - since > mostMs;
    const { accepted, error } = await postInOrder(
      events,
      posting(options, { url: subscription.url, secrets, post }),
      isOver,
    );
    const isWhole = accepted === events.length;
    const at = (isWhole ? upTo : undefined) ?? events[accepted - 1] ?? progress.at;
    progress = { at, accepted: progress.accepted + accepted, isAtEnd: isWhole && !isMore };
    if (error !== undefined) return { progress, error };
  } while (!progress.isAtEnd && performance.now() - since < turnMs);
  return { progress };
}

/** Reads the next stretch as a share of the organization; "unread" if the database fails: accepted events must still be recorded. */
async function nextStretch(options: SubscriptionWorkerOptions, subscription: LeasedSubscription, at: Position) {
  const { sql } = options;
  const whom: WorkedFor = { shares: [[subscription.owner, subscription.id]] };
  const wanted = { at, where: wantedBy(sql, subscription), most: mostAtOnce };
  try {
    return (await workFor(whom, () => stretchAfter(sql, wanted))) ?? "lost";
  } catch (error) {
    options.onError(error);
    return "unread";
  }
}

type Receiver = { readonly url: string; readonly secrets: readonly Uint8Array[]; readonly post: Poster["post"] };

/** Makes the function that posts an event; only a 2xx status accepts it. */
const posting =
  ({ bodyOf, clock }: SubscriptionWorkerOptions, { url, secrets, post }: Receiver) =>
  async (event: StoredEvent): Promise<void> => {
    const body = bodyOf(event);
    const signed = signedHeaders(secrets, { id: messageIdOf(event), body, now: clock() });
    const { status, headers } = await post(url, signed, body);
    if (status < 200 || status > 299) throw new Refused(status, askedSeconds(headers));
  };

/** The same for each attempt and each subscription. Standard Webhooks joins the signed parts with full stops, so an id contains none. */
const messageIdOf = ({ number, batch }: Position): string => `${number}-${batch}`;

// With one response, a receiver can postpone a subscription by at most this long.
const longestAskedSeconds = 3_600;

/** The time for which the receiver asks to be left alone. */
function askedSeconds({ "retry-after": retryAfter, date }: Posted["headers"]): number {
  return Math.min(retryAfterSeconds({ retryAfter: String(retryAfter), date: String(date) }), longestAskedSeconds);
}

class Refused extends Error {
  readonly status: number;
  readonly retrySeconds: number;

  constructor(status: number, retrySeconds: number) {
    super(`it answered ${status}`);
    this.status = status;
    this.retrySeconds = retrySeconds;
  }
}

type Sealed = Pick<LeasedSubscription, "id" | "sealed" | "previous" | "previousEnd">;

/** Opens the secrets of a subscription, the current one first. */
function secretsOf({ keyring, clock }: SubscriptionWorkerOptions, { id, sealed, previous, previousEnd }: Sealed) {
  const isInForce = previous !== null && previousEnd !== null && previousEnd > clock();
  try {
    return [sealed, ...(isInForce ? [previous] : [])].map((one) => keyring.open(one, subscriptionSecretContext(id)));
  } catch {
    return undefined;
  }
}

const longestPauseSeconds = 600;
const gone = 410;

/** Decides on a delivery that failed: another attempt later, or none after the receiver has accepted nothing for too long. */
function failed(
  options: SubscriptionWorkerOptions,
  subscription: LeasedSubscription,
  ended: Required<Omit<Ended, "isCut">>,
): Delivery {
  const { attempts, failingSince } = subscription;
  const { progress, error } = ended;
  const isRefused = error instanceof Refused;
  const isFirst = progress.accepted > 0 || failingSince === null;
  const tried = isFirst ? 0 : options.clock().getTime() - failingSince.getTime();
  const leftMs = isFirst ? Number.POSITIVE_INFINITY : options.retrySeconds * 1000 - tried;
  const pauseMs = backoffSeconds(isFirst ? 1 : attempts + 1, Math.random, longestPauseSeconds) * 1000;
  // Whatever delay the receiver asks for, there is a last attempt.
  const askedMs = Math.min(isRefused ? error.retrySeconds * 1000 : 0, leftMs);
  const waitMs = Math.max(pauseMs, askedMs);
  const failure = failureOf(error);
  const isLast = (isRefused && error.status === gone) || waitMs > leftMs;
  return isLast ? { kind: "dead", failure } : { kind: "postponed", failure, seconds: waitMs / 1000 };
}

async function settle(sql: Sql, held: LeasedSubscription, delivery: SubscriptionDelivery): Promise<void> {
  const { at, accepted, isAtEnd } = delivery.progress;
  const hasAccepted = accepted > 0;
  switch (delivery.kind) {
    case "delivered":
    case "superseded":
      await (isAtEnd ? rest(sql, held, at) : goOn(sql, held, at));
      break;
    case "postponed":
      await (delivery.isUntried
        ? waitForHost(sql, held, delivery.seconds)
        : postponeSubscription(sql, held, { at, hasAccepted, ...delivery }));
      break;
    case "dead":
      await burySubscription(sql, held, { at, hasAccepted, failure: delivery.failure });
      break;
  }
}
