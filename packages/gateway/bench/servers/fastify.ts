import { fastify } from "fastify";
import { greeting, tinyPath } from "../tiny.ts";
import { tell } from "./tell.ts";

const text = { type: "string" } as const;
const whole = { type: "integer" } as const;

const app = fastify();
app.post<{ Body: { name: string; count: number } }>(
  tinyPath,
  {
    schema: {
      body: {
        type: "object",
        additionalProperties: false,
        required: ["name", "count"],
        properties: { name: text, count: whole },
      },
      response: { 200: { type: "object", properties: { text, count: whole, again: { type: "boolean" } } } },
    },
  },
  async ({ body }) => greeting(body),
);
const url = await app.listen({ host: "127.0.0.1", port: 0 });
await tell(url, { [Symbol.asyncDispose]: () => app.close() });
