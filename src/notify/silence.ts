import { backoffSeconds } from "./deliveries.ts";

/** The application or subscription that a post is for, its organization, and the name or address of its host. */
export type Destination = { readonly owner: string; readonly receiver: string; readonly host: string };

/** The outcome of a try; a refused connection is neither an answer nor silence. */
export type Outcome = "answered" | "unanswered" | "failed";

/** A receiver or host, and a witness of its silence: with more than `most`, it is asked only now and then, after growing pauses. */
type Subject = { readonly key: string; readonly witness: string; readonly most: number };
type Silence = { readonly witnesses: Set<string>; pauses: number; until: number };

/** Remembers receivers and hosts that do not answer, on this node. */
export type Silences = {
  /** The seconds for which a post has to wait; without any, it is sent, and its outcome must be told. */
  readonly wait: (to: Destination) => number;
  readonly ended: (to: Destination, outcome: Outcome) => void;
};

const mostRemembered = 30_000;
// The maximum number of a node's places for a host that several organizations find silent.
const mostAtSilentHost = 6;
const fullSeconds = 2;

export type SilenceOptions = {
  readonly now?: () => number;
  /** Whether only hosts that several organizations find silent are set aside, because each receiver has pauses of its own. */
  readonly ofAll?: boolean;
};

/**
 * Remembers receivers and hosts that use up a connection's time and never answer, so that the next messages for them take no places. An
 * organization sets a host aside for itself, once two of its receivers there are silent. If three organizations find a host silent, each
 * sends it one message at a time, and all together a few: none of them can set it aside for another. One answer ends this. Nodes learn by
 * themselves: each loses a few places for the time of one try.
 */
export function rememberSilence(
  timeoutMs: number,
  { now = () => performance.now(), ofAll: isOfAll = false }: SilenceOptions = {},
): Silences {
  const silences = new Map<string, Silence>();
  const underWay = new Map<string, number>();

  return {
    wait(to) {
      const { receiver, ofOwner, ofAll } = subjectsOf(to);
      const isSilentToSeveral = isSilent(ofAll);
      if (isSilentToSeveral && countOf(to) >= mostAtSilentHost) return fullSeconds;
      const asked = [
        ...(!isOfAll && isSilent(receiver) ? [receiver] : []),
        ...(isSilentToSeveral || (!isOfAll && isSilent(ofOwner)) ? [ofOwner] : []),
      ];
      const waitMs = Math.max(0, ...asked.map(({ key }) => (silences.get(key)?.until ?? 0) - now()));
      if (waitMs > 0) return waitMs / 1000;
      for (const subject of asked) pause(subject, timeoutMs);
      underWay.set(to.host, countOf(to) + 1);
      return 0;
    },
    ended(to, outcome) {
      const count = countOf(to) - 1;
      if (count > 0) underWay.set(to.host, count);
      else underWay.delete(to.host);
      const subjects = Object.values(subjectsOf(to));
      if (outcome === "answered") for (const { key } of subjects) silences.delete(key);
      if (outcome === "unanswered") for (const subject of subjects) witness(subject);
    },
  };

  function countOf({ host }: Destination): number {
    return underWay.get(host) ?? 0;
  }

  function isSilent({ key, most }: Subject): boolean {
    return (silences.get(key)?.witnesses.size ?? 0) > most;
  }

  function witness(subject: Subject): void {
    if (isSilent(subject)) return;
    remembered(subject).witnesses.add(subject.witness);
    if (isSilent(subject)) pause(subject, 0);
  }

  function pause(subject: Subject, afterMs: number): void {
    const silence = remembered(subject);
    silence.pauses += 1;
    silence.until = now() + afterMs + backoffSeconds(silence.pauses) * 1000;
  }

  /** The entry that has not changed for longest is forgotten first. */
  function remembered({ key }: Subject): Silence {
    const silence = silences.get(key) ?? { witnesses: new Set(), pauses: 0, until: 0 };
    silences.delete(key);
    silences.set(key, silence);
    const [oldest] = silences.keys();
    if (silences.size > mostRemembered && oldest !== undefined) silences.delete(oldest);
    return silence;
  }
}

const subjectsOf = ({ owner, receiver, host }: Destination) => ({
  receiver: { key: `receiver ${receiver}`, witness: receiver, most: 0 },
  ofOwner: { key: `host of ${owner} ${host}`, witness: receiver, most: 1 },
  ofAll: { key: `host ${host}`, witness: owner, most: 2 },
});

/** The host of a URI, which has one name, however the URI spells it. */
export const hostOf = (uri: string): string => new URL(uri).hostname.replace(/\.$/, "");
