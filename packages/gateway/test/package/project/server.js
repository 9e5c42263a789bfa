// A server as somebody writes it who has installed the package: plain JavaScript, and code generated from the proto.

import { Code, ConnectError } from "@connectrpc/connect";
import { gateway } from "@postern/gateway";
import { ElizaService } from "./gen/connectrpc/eliza/v1/eliza_pb.js";

const answer = (sentence) => ({ sentence: `Why do you say: ${sentence}` });

/** @param {import("@connectrpc/connect").ConnectRouter} router */
function routes(router) {
  router.service(ElizaService, {
    say({ sentence }) {
      if (sentence === "bye") throw new ConnectError("the conversation is over", Code.FailedPrecondition);
      return answer(sentence);
    },
    async *introduce({ name }) {
      yield { sentence: `Hello ${name}` };
      yield { sentence: "I am Eliza" };
    },
    async *converse(requests) {
      for await (const { sentence } of requests) yield answer(sentence);
    },
  });
}

const listening = await gateway({ routes }).listen();
process.once("SIGTERM", () => listening[Symbol.asyncDispose]());
console.log(listening.url);
