import type { Counts } from "./importer.ts";

/** Shows the progress of a transfer, but only on a terminal. */
export type Progress = Disposable & { readonly show: (bytes: number, counts: Counts) => void };

type Terminal = Pick<NodeJS.WriteStream, "isTTY" | "columns" | "write">;

const everyMs = 100;
const width = 30;

/** Opens a progress bar for this many bytes. */
export function progressBar(terminal: Terminal, total: number): Progress {
  if (!terminal.isTTY) return { show() {}, [Symbol.dispose]() {} };
  const began = performance.now();
  let last = Number.NEGATIVE_INFINITY;
  return {
    show(bytes, counts) {
      const now = performance.now();
      if (now - last < everyMs) return;
      last = now;
      const line = progressLine({ bytes, total, counts, seconds: (now - began) / 1000 });
      terminal.write(`\r\u001b[K${line.slice(0, Math.max(1, (terminal.columns || 80) - 1))}`);
    },
    [Symbol.dispose]: () => void terminal.write("\r\u001b[K"),
  };
}

export type Reached = {
  readonly bytes: number;
  readonly total: number;
  readonly counts: Counts;
  readonly seconds: number;
};

export function progressLine({ bytes, total, counts: { made, there, refused }, seconds }: Reached): string {
  const share = total > 0 ? Math.min(1, bytes / total) : 1;
  const filled = Math.round(share * width);
  const bar = "#".repeat(filled) + ".".repeat(width - filled);
  const rate = seconds > 0 ? Math.round((made + there + refused) / seconds) : 0;
  const percent = String(Math.floor(share * 100)).padStart(3);
  return `[${bar}] ${percent} %  ${made} created, ${there} already there, ${refused} refused, ${rate}/s`;
}
