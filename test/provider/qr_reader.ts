import decodeQR from "qr/decode.js";

const modulePixels = 4;

/** Reads the QR code that a page draws, as the camera of a telephone would: from the rectangles of its path. */
export function qrTextIn(html: string): string {
  const size = Number(/<svg class="qr" viewBox="0 0 (\d+) \1"/.exec(html)?.[1]);
  const path = /<path fill="#000" d="([^"]*)"/.exec(html)?.[1] ?? "";
  const side = size * modulePixels;
  const data = new Uint8Array(side * side * 4).fill(255);
  for (const [, x, y, width] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g))
    darken(data, side, { x: Number(x), y: Number(y), width: Number(width) });
  return decodeQR({ width: side, height: side, data });
}

type Run = { readonly x: number; readonly y: number; readonly width: number };

function darken(data: Uint8Array, side: number, { x, y, width }: Run): void {
  for (let row = y * modulePixels; row < (y + 1) * modulePixels; row += 1)
    for (let column = x * modulePixels; column < (x + width) * modulePixels; column += 1)
      data.fill(0, (row * side + column) * 4, (row * side + column) * 4 + 3);
}
