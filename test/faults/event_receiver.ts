// A receiver of events in a process of its own, which can be killed. It appends each event that it accepts to a file, before it says so, and is
// slow, down or lying at times.

import { appendFileSync, readFileSync } from "node:fs";
import { createServer } from "node:https";

const [port = "", certFile = "", keyFile = "", file = ""] = process.argv.slice(2);

let count = 0;

createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    count += 1;
    if (count % 251 === 0) return void response.writeHead(503).end();
    if (count % 247 === 0) {
      // It claims to have accepted the event, and has not.
      response.writeHead(200, { "content-length": "100" }).write("accepted");
      return void setTimeout(() => response.destroy(), 5);
    }
    const { objectId, sequence } = JSON.parse(Buffer.concat(parts).toString("utf8"));
    const accept = () => {
      appendFileSync(file, `${objectId} ${sequence} ${request.headers["webhook-id"]}\n`);
      response.writeHead(204).end();
    };
    if (count % 97 === 0) setTimeout(accept, 200);
    else accept();
  });
}).listen(Number(port), "127.0.0.1", () => console.log("listening"));
