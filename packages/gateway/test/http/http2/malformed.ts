type Field = readonly [name: string, value: string];

/** Field lines that are malformed wherever they are: RFC 9113, 8.2.1. */
export const malformedFields: readonly (readonly [what: string, field: Field])[] = [
  ["a field without a name", ["", "a"]],
  ["a name with a capital", ["X-a", "b"]],
  ["a name with a space", ["x a", "b"]],
  ["a name that ends with a space", ["x ", "b"]],
  ["a name with a tab", ["x\ta", "b"]],
  ["a name with a colon", ["x:a", "b"]],
  ["a name with a carriage return", ["x\ra", "b"]],
  ["a name with a line feed", ["x\na", "b"]],
  ["a name with a zero", ["x\0a", "b"]],
  ["a name beyond ASCII", ["x\u00e9", "b"]],
  ["a value with a carriage return", ["x", "a\rb"]],
  ["a value with a line break", ["x", "a\r\nb: c"]],
  ["a value with a zero", ["x", "a\0"]],
  ["a value with a delete", ["x", "a\x7f"]],
  ["a value that begins with a space", ["x", " a"]],
  ["a value that ends with a tab", ["x", "a\t"]],
];

/** Fields that trailers cannot have: RFC 9113, 8.1, and RFC 9110, 6.5.1. */
export const neverTrailers: readonly (readonly [what: string, field: Field])[] = [
  ["a pseudo-header", [":path", "/"]],
  ["a length", ["content-length", "1"]],
  ["a host", ["host", "localhost"]],
];
