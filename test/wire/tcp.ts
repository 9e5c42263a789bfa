import { connect, type Socket } from "node:net";

type Port = { readonly url: string };

/** Opens a bare connection. */
export async function openSocket({ url }: Port): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  return socket.on("error", () => {});
}

/** Reads what a connection brings until it closes, or until the text matches. */
export function readUntil(socket: Socket, pattern = /$^/): Promise<string> {
  let text = "";
  return new Promise((resolve) => {
    socket.on("data", (chunk) => {
      text += chunk.toString();
      if (pattern.test(text)) resolve(text);
    });
    socket.on("close", () => resolve(text));
  });
}

/** Sends bytes on a connection of their own, and reads until the server closes it, or until the text matches. */
export async function sendBytes(port: Port, bytes: string | Uint8Array, pattern?: RegExp): Promise<string> {
  const socket = await openSocket(port);
  socket.write(bytes);
  const text = await readUntil(socket, pattern);
  socket.destroy();
  return text;
}
