import type { HttpRule } from "../../../../gen/google/api/http_pb.ts";
import type { Operation, Operations } from "../rpc/operations.ts";
import { type Binding, compileBinding } from "./binding.ts";
import { parseTemplate } from "./parser.ts";
import { createRouter, type Router } from "./router.ts";

/** An operation behind one of its REST paths. */
export type RestTarget = { readonly operation: Operation; readonly binding: Binding };

/** Compiles every REST path, or throws a sentence that names the rpc whose rule is wrong or comes second. */
export function compileRest(operations: Operations): Router<RestTarget> {
  const router = createRouter<RestTarget>();
  for (const operation of operations.values()) {
    for (const rule of operation.rules) addRule(router, operation, rule);
  }
  return router;
}

function addRule(router: Router<RestTarget>, operation: Operation, rule: HttpRule): void {
  const [method, path] = patternOf(operation, rule);
  const fail = (problem: string) => new Error(`${method} ${path} of ${operation.path.slice(1)}: ${problem}`);
  const compiled = attempt(() => {
    const template = parseTemplate(path);
    return { template, target: { operation, binding: compileBinding(operation.method, rule, template) } };
  }, fail);
  const there = router.add(method, compiled);
  if (there) throw fail(`the path is taken by ${there.operation.path.slice(1)}`);
}

/** The HTTP method and the path of a rule. */
export function patternOf({ path }: Operation, { pattern }: HttpRule): [method: string, path: string] {
  switch (pattern.case) {
    case undefined:
      throw new Error(`a rule of ${path.slice(1)} has no path`);
    case "custom":
      return [pattern.value.kind, pattern.value.path];
    default:
      return [pattern.case.toUpperCase(), pattern.value];
  }
}

function attempt<T>(work: () => T, fail: (problem: string) => Error): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof Error ? fail(error.message) : error;
  }
}
