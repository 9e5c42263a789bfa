import type { Segment, Template } from "./parser.ts";

type Node<T> = {
  readonly literals: Map<string, Node<T>>;
  one?: Node<T>;
  rest?: Node<T>;
  /** By verb, then by HTTP method; `*` is any method. */
  readonly verbs: Map<string, Map<string, Route<T>>>;
};

/** What a path leads to. */
export type Route<T> = { readonly template: Template; readonly target: T };

/** What became of looking up a path. */
export type Match<T> =
  | { readonly kind: "found"; readonly route: Route<T>; readonly segments: readonly string[] }
  | { readonly kind: "wrong method"; readonly allow: readonly string[] }
  | { readonly kind: "unknown" }
  | { readonly kind: "malformed" };

/** A trie of paths: segment, then verb, then method. */
export type Router<T> = {
  /** Adds a route; answers the target that is already there, and then changes nothing. */
  add(method: string, route: Route<T>): T | undefined;
  /** Looks a raw path up, still encoded. */
  match(method: string, path: string): Match<T>;
};

/** Starts an empty router. */
export function createRouter<T>(): Router<T> {
  const root = node<T>();
  // A path without variables is found by itself: a literal wins over a variable everywhere.
  const literal = new Map<string, Map<string, Route<T>>>();
  return {
    add(method, route) {
      const there = add(root, method, route);
      const { segments, verb } = route.template;
      const texts = segments.flatMap((segment) => (segment.kind === "literal" ? [segment.value] : []));
      if (there || verb || texts.length < segments.length) return there;
      const path = `/${texts.join("/")}`;
      literal.set(path, (literal.get(path) ?? new Map<string, Route<T>>()).set(method, route));
      return undefined;
    },
    match(method, path) {
      const route = literal.get(path)?.get(method);
      return route ? { kind: "found", route, segments: [] } : match(root, method, path);
    },
  };
}

function node<T>(): Node<T> {
  return { literals: new Map(), verbs: new Map() };
}

function add<T>(root: Node<T>, method: string, route: Route<T>): T | undefined {
  const end = route.template.segments.reduce(childFor, root);
  const methods = end.verbs.get(route.template.verb) ?? new Map<string, Route<T>>();
  const there = methods.get(method);
  if (there) return there.target;
  end.verbs.set(route.template.verb, methods.set(method, route));
  return undefined;
}

function childFor<T>(parent: Node<T>, segment: Segment): Node<T> {
  switch (segment.kind) {
    case "one":
      parent.one ??= node();
      return parent.one;
    case "rest":
      parent.rest ??= node();
      return parent.rest;
    case "literal": {
      const child = parent.literals.get(segment.value) ?? node<T>();
      parent.literals.set(segment.value, child);
      return child;
    }
  }
}

function match<T>(root: Node<T>, method: string, path: string): Match<T> {
  const raw = path.slice(1).split("/");
  const last = raw.at(-1) ?? "";
  // A colon inside a value comes as %3A, so a bare one always begins the verb.
  const colon = last.indexOf(":");
  if (colon >= 0) raw[raw.length - 1] = last.slice(0, colon);
  const verb = decoded(colon < 0 ? "" : last.slice(colon + 1));
  const segments = raw.map(decoded);
  if (verb === undefined || segments.includes(undefined)) return { kind: "malformed" };
  const methods = find(root, { segments, verb }, 0);
  if (!methods) return { kind: "unknown" };
  const route = methods.get(method) ?? (method === "HEAD" ? methods.get("GET") : undefined) ?? methods.get("*");
  return route ? { kind: "found", route, segments: raw } : { kind: "wrong method", allow: allowed(methods) };
}

type Wanted = { readonly segments: readonly (string | undefined)[]; readonly verb: string };

/** Walks down, a literal before a variable, and comes back from where no verb of ours waits. */
function find<T>(at: Node<T>, wanted: Wanted, depth: number): Map<string, Route<T>> | undefined {
  const segment = wanted.segments[depth];
  if (segment === undefined) return at.verbs.get(wanted.verb) ?? at.rest?.verbs.get(wanted.verb);
  const literal = at.literals.get(segment);
  return (
    (literal && find(literal, wanted, depth + 1)) ??
    // An empty segment is a slip, such as /v1/users/, and no value.
    (at.one && segment !== "" ? find(at.one, wanted, depth + 1) : undefined) ??
    at.rest?.verbs.get(wanted.verb)
  );
}

const allowed = (methods: ReadonlyMap<string, unknown>) =>
  [...methods.keys()].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));

function decoded(text: string): string | undefined {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
