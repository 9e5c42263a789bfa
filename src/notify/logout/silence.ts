import { backoffSeconds } from "../deliveries.ts";

/** The application that a sign-out is for, its organization, and the name or address of its host. */
export type Destination = { readonly owner: string; readonly appId: string; readonly host: string };

/** What gave no answer, and to how many: beyond `most`, it is asked by one message at a time, with pauses that grow. */
type Subject = { readonly key: string; readonly witness: string; readonly most: number };
type Silence = { readonly witnesses: Set<string>; pauses: number; until: number };

/** Remembers who does not answer, on this node. */
export type Silences = {
  /** The seconds for which a sign-out has to wait; without any it is sent, and the outcome must be told. */
  readonly wait: (to: Destination) => number;
  readonly answered: (to: Destination) => void;
  readonly unanswered: (to: Destination) => void;
};

const mostRemembered = 30_000;

/**
 * Remembers applications and hosts that take a connection's time and never answer, so that the next messages for them take no places.
 * An organization sets a host aside for itself, once two of its applications there are silent; for all, it takes three organizations.
 * One answer ends it. Nodes learn by themselves: each loses a few places for the time of one try.
 */
export function rememberSilence(timeoutMs: number, now: () => number = () => performance.now()): Silences {
  const silences = new Map<string, Silence>();

  return {
    wait(to) {
      const silent = subjectsOf(to).flatMap((subject) => silenceOf(subject) ?? []);
      const waitMs = Math.max(0, ...silent.map(({ until }) => until - now()));
      if (waitMs === 0) for (const silence of silent) pause(silence, timeoutMs);
      return waitMs / 1000;
    },
    answered(to) {
      for (const { key } of subjectsOf(to)) silences.delete(key);
    },
    unanswered(to) {
      for (const { key, witness, most } of subjectsOf(to)) {
        const silence = silences.get(key) ?? { witnesses: new Set(), pauses: 0, until: 0 };
        const began = silence.witnesses.size <= most;
        if (began) silence.witnesses.add(witness);
        if (began && silence.witnesses.size > most) pause(silence, 0);
        remember(key, silence);
      }
    },
  };

  function silenceOf({ key, most }: Subject): Silence | undefined {
    const silence = silences.get(key);
    return silence && silence.witnesses.size > most ? silence : undefined;
  }

  function pause(silence: Silence, afterMs: number): void {
    silence.pauses += 1;
    silence.until = now() + afterMs + backoffSeconds(silence.pauses) * 1000;
  }

  function remember(key: string, silence: Silence): void {
    silences.delete(key);
    silences.set(key, silence);
    const [oldest] = silences.keys();
    if (silences.size > mostRemembered && oldest !== undefined) silences.delete(oldest);
  }
}

const subjectsOf = ({ owner, appId, host }: Destination): readonly Subject[] => [
  { key: `application ${appId}`, witness: appId, most: 0 },
  { key: `host of ${owner} ${host}`, witness: appId, most: 1 },
  { key: `host ${host}`, witness: owner, most: 2 },
];
