import type { Segment, Template } from "./parser.ts";

type Node<T> = {
  readonly literals: Map<string, Node<T>>;
  one?: Node<T>;
  rest?: Node<T>;
  /** By verb, then by HTTP method; `*` is any method. */
  readonly verbs: Map<string, Map<string, Route<T>>>;
};

/** A path template and its target. */
export type Route<T> = { readonly template: Template; readonly target: T };

/** The result of looking up a path. */
export type Match<T> =
  | { readonly kind: "found"; readonly route: Route<T>; readonly segments: readonly string[] }
  | { readonly kind: "wrong method"; readonly allow: readonly string[] }
  | { readonly kind: "unknown" }
  | { readonly kind: "malformed" };

/** A trie of paths: segment, then verb, then method. */
export type Router<T> = {
  /** Adds a route; returns the existing target of the same path, and then changes nothing. */
  add(method: string, route: Route<T>): T | undefined;
  /** Looks up a path that is still encoded. */
  match(method: string, path: string): Match<T>;
};

/** Starts an empty router. */
export function createRouter<T>(): Router<T> {
  const root = node<T>();
  // Paths without variables have a map of their own: a literal wins over a variable everywhere.
  const literal = new Map<string, Map<string, Route<T>>>();
  return {
    add(method, route) {
      const existing = add(root, method, route);
      const { segments, verb } = route.template;
      const texts = segments.flatMap((segment) => (segment.kind === "literal" ? [segment.value] : []));
      if (existing || verb || texts.length < segments.length) return existing;
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
  const existing = methods.get(method);
  if (existing) return existing.target;
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
  // A colon inside a value is sent as %3A, so a bare one always begins the verb.
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

type RawPath = { readonly segments: readonly (string | undefined)[]; readonly verb: string };

/** Finds the methods of a path: a literal is tried before a variable, and the search backtracks from a dead end. */
function find<T>(at: Node<T>, path: RawPath, depth: number): Map<string, Route<T>> | undefined {
  const segment = path.segments[depth];
  if (segment === undefined) return at.verbs.get(path.verb) ?? at.rest?.verbs.get(path.verb);
  const literal = at.literals.get(segment);
  return (
    (literal && find(literal, path, depth + 1)) ??
    // An empty segment, as in /v1/users/, is a mistake and no value.
    (at.one && segment !== "" ? find(at.one, path, depth + 1) : undefined) ??
    at.rest?.verbs.get(path.verb)
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
