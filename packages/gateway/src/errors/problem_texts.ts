/** The more specific texts for unreadable requests; `{name}` stands for a parameter. */
export const problemTexts = {
  BODY_NOT_JSON: "the request body is not JSON: unexpected {found} at line {line}, column {column}",
  BODY_INCOMPLETE: "the request body is not JSON: it ends too early, at line {line}, column {column}",
  BODY_NOT_UTF8: "the request body is not UTF-8 at byte {byte}",
  BODY_NOT_OBJECT: "the request body must be a JSON object",
  BODY_TOO_DEEP: "the request body is nested more than {max} levels deep",
  BODY_NOT_PROTOBUF: "the request body is not a valid Protobuf message for this request, at byte {byte}",
  FIELD_NOT_PROTOBUF:
    "the request body is not a valid Protobuf message for this request, at byte {byte}, in the field {field}",
  BODY_LENGTH: "the request body does not have the length given in its prefix",
  MESSAGE_COUNT: "this method takes exactly one message",
  BODY_NOT_COMPRESSED: "the request body is not compressed with {encoding}, although the headers say so",
  BODY_NOT_BASE64: "the request body is not base64",
  BODY_UNEXPECTED: "this request takes no body",
  QUERY_MALFORMED: "the query of the request is not percent-encoded UTF-8",
  HEADER_MALFORMED: "the request header {header} cannot be read",
} as const;

/** The name of a problem: the error's parameter `problem`. */
export type Problem = keyof typeof problemTexts;
