/** Servers that are tried last for a while, by their URLs: they did not respond in time, while another did. */
export type Aside = Readonly<{
  has: (url: string) => boolean;
  put: (url: string) => void;
  /** Takes back a server that responds again. */
  clear: (url: string) => void;
}>;

// A host that swallows everything costs each new connection its share of CONNECT_TIMEOUT, and each statement on an open connection all of
// its time. Checking twice a minute whether it is back is often enough.
const asideMs = 30_000;

/** Remembers such servers; all pools share them, so that the first pool to find one spares the others. */
export function serversAside(now: () => number = () => performance.now()): Aside {
  const until = new Map<string, number>();
  return {
    has: (url) => (until.get(url) ?? 0) > now(),
    put: (url) => void until.set(url, now() + asideMs),
    clear: (url) => void until.delete(url),
  };
}
