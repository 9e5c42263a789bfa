import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { counted, greeting, greetRequest, tinyService } from "../tiny.ts";

type Unary = DescMethod & { readonly methodKind: "unary" };
type ServerStream = DescMethod & { readonly methodKind: "server_streaming" };

const isUnary = (method: DescMethod): method is Unary => method.methodKind === "unary";
const isStream = (method: DescMethod): method is ServerStream => method.methodKind === "server_streaming";

/** The tiny service as the gateway and the adapter of Connect mount it. */
export const tinyRoutes = (router: ConnectRouter): void => routesOf(tinyService())(router);

/** The same for a service with other options. */
export const routesOf = (service: DescService) => (router: ConnectRouter) => {
  const { methods } = service;
  for (const method of methods.filter(isUnary)) router.rpc(method, greet);
  for (const method of methods.filter(isStream)) router.rpc(method, count);
};

const greet = async (request: Message) => greeting({ ...greetRequest, ...request });

async function* count(request: Message) {
  yield* counted({ ...greetRequest, ...request });
}
