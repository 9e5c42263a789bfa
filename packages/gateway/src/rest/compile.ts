import type { HttpRule } from "../../gen/google/api/http_pb.ts";
import type { RpcMethod } from "../rpc/rpc_method.ts";
import { type Binding, compileBinding } from "./binding.ts";
import { parseTemplate } from "./parser.ts";
import { createRouter, type Router } from "./router.ts";

/** An rpc behind one of its REST paths. */
export type RestTarget = { readonly rpc: RpcMethod; readonly binding: Binding };

/** Compiles every REST path; throws an error that names an rpc whose rule is invalid or repeats a path. */
export function compileRest(rpcs: readonly RpcMethod[]): Router<RestTarget> {
  const router = createRouter<RestTarget>();
  for (const rpc of rpcs) {
    for (const rule of rpc.rules) addRule(router, rpc, rule);
  }
  return router;
}

function addRule(router: Router<RestTarget>, rpc: RpcMethod, rule: HttpRule): void {
  const [method, path] = patternOf(rpc, rule);
  const fail = (problem: string) => new Error(`${method} ${path} of ${rpc.path.slice(1)}: ${problem}`);
  const compiled = withContext(() => {
    const template = parseTemplate(path);
    return { template, target: { rpc, binding: compileBinding(rpc.method, rule, template) } };
  }, fail);
  const existing = router.add(method, compiled);
  if (existing) throw fail(`the path is taken by ${existing.rpc.path.slice(1)}`);
}

/** The HTTP method and the path of a rule. */
export function patternOf({ path }: Pick<RpcMethod, "path">, { pattern }: HttpRule): [method: string, path: string] {
  switch (pattern.case) {
    case undefined:
      throw new Error(`a rule of ${path.slice(1)} has no path`);
    case "custom":
      return [pattern.value.kind, pattern.value.path];
    default:
      return [pattern.case.toUpperCase(), pattern.value];
  }
}

function withContext<T>(work: () => T, fail: (problem: string) => Error): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof Error ? fail(error.message) : error;
  }
}
