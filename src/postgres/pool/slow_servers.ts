/** Servers that are tried last for a while, by their URLs: one did not answer in time, and another one did. */
export type Aside = Readonly<{
  has: (url: string) => boolean;
  put: (url: string) => void;
  /** Takes a server back that answers again. */
  clear: (url: string) => void;
}>;

// A host that swallows everything costs each new connection its share of CONNECT_TIMEOUT, and each statement on an open one all of
// its time. Once in half a minute is often enough to learn whether it is back.
const asideMs = 30_000;

/** Remembers such servers; all pools share it, so that the first to find one spares the others. */
export function serversAside(now: () => number = () => performance.now()): Aside {
  const until = new Map<string, number>();
  return {
    has: (url) => (until.get(url) ?? 0) > now(),
    put: (url) => void until.set(url, now() + asideMs),
    clear: (url) => void until.delete(url),
  };
}
