import { type Html, html } from "../pages/html.ts";

// A longer code has modules too small for phone cameras; the secret is also shown as text.
const longest = 500;
// ISO/IEC 18004, 9.1: the width of the quiet zone, in modules.
const quiet = 4;

/** Draws a QR code as SVG without styles, dark on light in any colour scheme; undefined for a text that is too long. */
export async function qrCode(text: string, label: string): Promise<Html | undefined> {
  if (Buffer.byteLength(text) > longest) return undefined;
  const { default: encode } = await import("qr");
  const rows = encode(text, "raw", { ecc: "medium", border: quiet });
  const size = String(rows.length);
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}" shape-rendering="crispEdges">
<path fill="#fff" d="M0 0h${size}v${size}h-${size}z"/><path fill="#000" d="${pathOf(rows)}"/></svg>`;
}

/** The dark modules: one rectangle per run in a row. */
const pathOf = (rows: readonly (readonly boolean[])[]): string => rows.flatMap((row, y) => runsOf(row, y)).join("");

function runsOf(row: readonly boolean[], y: number): string[] {
  const starts = row.flatMap((isDark, x) => (isDark && !row[x - 1] ? [x] : []));
  return starts.map((x) => {
    const end = row.indexOf(false, x);
    const length = (end === -1 ? row.length : end) - x;
    return `M${x} ${y}h${length}v1h-${length}z`;
  });
}
