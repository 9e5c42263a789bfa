import { expect, test } from "vitest";
import { rasterOf } from "../../src/security/raster.ts";
import { onePixel, pngOf } from "../fixture/images.ts";

const jpegOf = (width: number, height: number) => {
  const frame = Buffer.from("ffc0001108000000000301220002110103110000", "hex");
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  return Buffer.concat([Buffer.from("ffd8ffe000104a46494600010100000100010000", "hex"), Buffer.from([0xff]), frame]);
};

const webpOf = (kind: string, rest: string) =>
  Buffer.concat([
    Buffer.from("RIFF\0\0\0\0WEBP", "latin1"),
    Buffer.from(kind, "latin1"),
    Buffer.alloc(4),
    Buffer.from(rest, "hex"),
    Buffer.alloc(16),
  ]);

test.each([
  ["a PNG image", pngOf(300, 200), { type: "image/png", width: 300, height: 200 }],
  ["a PNG image of one pixel", Buffer.from(onePixel, "base64"), { type: "image/png", width: 1, height: 1 }],
  ["a JPEG image", jpegOf(640, 480), { type: "image/jpeg", width: 640, height: 480 }],
  ["a WebP image", webpOf("VP8 ", "3001009d012a40010100"), { type: "image/webp", width: 320, height: 1 }],
  ["a WebP image without losses", webpOf("VP8L", "2f3f41010000"), { type: "image/webp", width: 320, height: 6 }],
  ["a WebP image with more", webpOf("VP8X", "100000003f0100020000"), { type: "image/webp", width: 320, height: 3 }],
])("%s is known by its bytes, with its size", (_, bytes, raster) => {
  expect(rasterOf(bytes)).toEqual(raster);
});

test.each([
  ["nothing", Buffer.alloc(0)],
  ["SVG", Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>')],
  ["HTML", Buffer.from("<!doctype html><script>alert(1)</script>")],
  ["GIF", Buffer.from("GIF89a\x01\x00\x01\x00")],
  ["a PNG image that is cut short", pngOf(1, 1).subarray(0, 20)],
  ["a JPEG image without a frame", Buffer.from("ffd8ffd9", "hex")],
  ["a JPEG image of segments without a length", Buffer.from(`ffd8${"ffe00000".repeat(20)}`, "hex")],
  ["a RIFF file of another kind", Buffer.concat([Buffer.from("RIFF\0\0\0\0WAVEfmt "), Buffer.alloc(40)])],
])("%s is no image that pages show", (_, bytes) => {
  expect(rasterOf(bytes)).toBeUndefined();
});
