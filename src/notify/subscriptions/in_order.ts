import type { StoredEvent } from "../../events/follow.ts";

/** Posts one event; throws if the receiver does not accept it. */
export type PostEvent = (event: StoredEvent) => Promise<void>;

/** The number of first events that were all accepted, and the first error. */
export type Posted = { readonly accepted: number; readonly error?: unknown };

// Receivers are far away: this many objects are served at the same time.
const lanes = 8;

/**
 * Posts events: those of one object one after another, each only if the one before was accepted, and those of different objects at the same
 * time. After an error, or once `isOver`, no other post begins.
 */
export async function postInOrder(
  events: readonly StoredEvent[],
  post: PostEvent,
  isOver: () => boolean,
): Promise<Posted> {
  const objects = byObject(events).values();
  const accepted = new Set<StoredEvent>();
  const errors: unknown[] = [];
  const isStopped = () => errors.length > 0 || isOver();

  await Promise.all(Array.from({ length: lanes }, lane));
  const refused = events.findIndex((event) => !accepted.has(event));
  return { accepted: refused < 0 ? events.length : refused, ...(errors.length > 0 ? { error: errors[0] } : {}) };

  async function lane(): Promise<void> {
    for (const ofObject of objects)
      for (const event of ofObject) {
        if (isStopped()) return;
        try {
          await post(event);
        } catch (error) {
          errors.push(error);
          return;
        }
        accepted.add(event);
      }
  }
}

/** The events of each object, the object of the first event first. */
function byObject(events: readonly StoredEvent[]): ReadonlyMap<string, readonly StoredEvent[]> {
  const objects = new Map<string, StoredEvent[]>();
  for (const event of events) {
    const key = `${event.owner}/${event.stream}`;
    objects.set(key, [...(objects.get(key) ?? []), event]);
  }
  return objects;
}
