import { expect, test, vi } from "vitest";
import type { Page } from "../chromium.ts";
import { has, press, type Stage } from "./stage.ts";

const most = 8;
/** How often each text stands in the list of events. */
const times = `((texts) => texts.map((text) => [...document.querySelectorAll("main .event")].filter((one) => one.textContent.includes(text)).length))`;

/** The events that happen while one looks. */
export function live(stage: () => Stage): void {
  test("eight tabs over HTTP/1.1 share one stream, calls are answered, and no event is missed or told twice", async () => {
    const { signIn, owner, proxy, chromium, nodes } = stage();
    const windows = await chromium.apart();
    await signIn(owner, "/", windows);
    const all: Page[] = [];
    while (all.length < most) {
      const page = await windows.open(`${proxy.url}/console/events`);
      await has(page, ".live.on");
      all.push(page);
    }
    const [first = expect.unreachable(), ...others] = all;
    expect(proxy.streams.size).toBe(1);
    expect([...first.protocols]).toEqual(["http/1.1"]);
    await happens("Seen by all");
    await tell(all, "Seen by all");

    // Each of the connections that are left serves the calls of all.
    const last = others.at(-1) ?? expect.unreachable();
    await press(last, "a[href='/console/projects']");
    await has(last, "main table");
    await press(last, "a[href='/console/events']");
    await has(last, ".live.on");

    // The token ends, and what happens until somebody touches the page is told afterwards.
    let refused = 0;
    proxy.between = ({ path }) => {
      if (!path.endsWith("/WatchEvents") || refused > 0) return undefined;
      refused += 1;
      return { status: 401, headers: { "content-type": "application/json" }, body: '{"code":16}' };
    };
    for (const stream of proxy.streams) stream.destroy();
    await vi.waitFor(() => expect(refused).toBe(1), 60_000);
    await happens("While nobody could hear");
    await happens("Nor this");
    await first.raw("Page.bringToFront");
    await first.raw("Input.dispatchKeyEvent", { type: "keyDown", key: "Shift", code: "ShiftLeft" });
    await tell(all, "Seen by all", "While nobody could hear", "Nor this");
    expect(proxy.streams.size).toBe(1);

    // Another tab reads on once the one that has read goes elsewhere, or is closed.
    await first.raw("Page.navigate", { url: `${proxy.url}/account` });
    await happens("After the first had left");
    await tell(others, "After the first had left");
    await first.close();
    await others.shift()?.close();
    await happens("After the first had gone");
    await tell(others, "While nobody could hear", "Nor this", "After the first had left", "After the first had gone");
    await vi.waitFor(() => expect(proxy.streams.size).toBe(1), 60_000);
    await Promise.all(others.map((page) => page.close()));

    async function happens(name: string): Promise<void> {
      expect((await nodes.one.admin.post("/v1/projects", { name })).status).toBe(200);
    }
  });
}

/** Waits until every tab shows each of these events, once. */
async function tell(pages: readonly Page[], ...names: readonly string[]): Promise<void> {
  const once = names.map(() => 1);
  await Promise.all(
    pages.map((page) => vi.waitFor(async () => expect(await page.run(times, names)).toEqual(once), 60_000)),
  );
}
