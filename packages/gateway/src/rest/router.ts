import type { Segment, Template } from "./parser.ts";

type Node<T> = {
  readonly literals: Map<string, Node<T>>;
  one?: Node<T>;
  rest?: Node<T>;
  /** By verb, then by HTTP method; `*` stands for any method. */
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
  /** Adds a route. If the same calls already reach another one, returns its target and changes nothing. */
  add(method: string, route: Route<T>): T | undefined;
  /** Looks up a path that is still encoded. */
  match(method: string, path: string): Match<T>;
};

/** Starts an empty router. */
export function createRouter<T>(): Router<T> {
  const root = node<T>();
  const targets = new Map<string, T>();
  // Paths without variables have a map of their own, because a literal takes precedence over a variable everywhere.
  const literal = new Map<string, Map<string, Route<T>>>();
  return {
    add(method, route) {
      const spelling = `${method} ${spellingOf(route.template)}`;
      const existing = targets.get(spelling);
      if (existing !== undefined) return existing;
      targets.set(spelling, route.target);
      add(root, method, route);
      const { segments, verb } = route.template;
      const texts = segments.flatMap((segment) => (segment.kind === "literal" ? [segment.value] : []));
      if (verb || texts.length < segments.length) return undefined;
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

/** A template with its variable names removed: two with the same spelling match the same calls. */
const spellingOf = ({ segments, verb }: Template): string =>
  segments.map(segmentSpelling).join("/") + (verb && `:${verb}`);

function segmentSpelling(segment: Segment): string {
  switch (segment.kind) {
    case "literal":
      return encodeURIComponent(segment.value).replaceAll("%3A", ":");
    case "one":
      return "*";
    case "rest":
      return "**";
  }
}

function node<T>(): Node<T> {
  return { literals: new Map(), verbs: new Map() };
}

function add<T>(root: Node<T>, method: string, route: Route<T>): void {
  const end = route.template.segments.reduce(childFor, root);
  const methods = end.verbs.get(route.template.verb) ?? new Map<string, Route<T>>();
  end.verbs.set(route.template.verb, methods.set(method, route));
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
  const colon = last.lastIndexOf(":");
  const whole = { raw, verb: "" };
  // RFC 3986, 3.3: a segment may contain an unencoded colon, so it belongs to the value unless one of our verbs follows it.
  const read =
    colon < 0 || colon === last.length - 1
      ? [whole]
      : [{ raw: raw.with(-1, last.slice(0, colon)), verb: last.slice(colon + 1) }, whole];
  for (const { raw, verb } of read) {
    const path = { segments: raw.map(decoded), verb: decoded(verb) };
    if (!isDecoded(path)) return { kind: "malformed" };
    const methods = find(root, path, 0);
    if (methods) return answer(methods, method, raw);
  }
  return { kind: "unknown" };
}

function answer<T>(methods: ReadonlyMap<string, Route<T>>, method: string, segments: readonly string[]): Match<T> {
  const route = methods.get(method) ?? (method === "HEAD" ? methods.get("GET") : undefined) ?? methods.get("*");
  return route ? { kind: "found", route, segments } : { kind: "wrong method", allow: allowed(methods) };
}

type Decoded<Text> = { readonly segments: readonly Text[]; readonly verb: Text };
type Path = Decoded<string>;

const isDecoded = (path: Decoded<string | undefined>): path is Path =>
  path.verb !== undefined && !path.segments.includes(undefined);

/** Finds the methods of a path: literals are tried before variables, and the search backtracks from dead ends. */
function find<T>(at: Node<T>, path: Path, depth: number): Map<string, Route<T>> | undefined {
  const segment = path.segments[depth];
  if (segment === undefined) return at.verbs.get(path.verb) ?? at.rest?.verbs.get(path.verb);
  const literal = at.literals.get(segment);
  return (
    (literal && find(literal, path, depth + 1)) ??
    // An empty segment, as in /v1/users/, is a mistake and not a value.
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
