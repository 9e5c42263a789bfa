import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type Socket } from "node:net";

const headersFrame = 1;
const frameHeader = 9;

/** A relay of HTTP/2 that loses every other answer, with its connection, after the server gave it. */
export type LossyRelay = AsyncDisposable & { readonly address: string; readonly lost: () => number };

/** Opens a relay before a server of HTTP/2 without TLS. */
export async function lossyRelay(server: string): Promise<LossyRelay> {
  const { hostname, port } = new URL(server);
  const sockets = new Set<Socket>();
  let answers = 0;
  const mayPass = () => ++answers % 2 === 0;
  const relay = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => end(client, upstream));
    }
    client.pipe(upstream);
    passFrames({ from: upstream, to: client, mayPass });
  }).listen(0, "127.0.0.1");
  await once(relay, "listening");
  const end = (...both: readonly Socket[]) => {
    for (const socket of both) {
      sockets.delete(socket);
      socket.destroy();
    }
  };
  return {
    address: `127.0.0.1:${(relay.address() as AddressInfo).port}`,
    lost: () => Math.ceil(answers / 2),
    async [Symbol.asyncDispose]() {
      end(...sockets);
      await new Promise((resolve) => relay.close(resolve));
    },
  };
}

type Way = { readonly from: Socket; readonly to: Socket; readonly mayPass: () => boolean };

/** Passes whole frames on, until the headers of an answer that may not pass. */
function passFrames({ from, to, mayPass }: Way): void {
  const answered = new Set<number>();
  let rest = Buffer.alloc(0);
  from.on("data", (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= frameHeader && rest.length >= frameHeader + rest.readUIntBE(0, 3)) {
      const frame = rest.subarray(0, frameHeader + rest.readUIntBE(0, 3));
      rest = rest.subarray(frame.length);
      const stream = frame.readUInt32BE(5);
      // Trailers are headers too, of a stream that was answered.
      if (frame[3] === headersFrame && !answered.has(stream)) {
        if (!mayPass()) return void to.destroy();
        answered.add(stream);
      }
      to.write(frame);
    }
  });
}
