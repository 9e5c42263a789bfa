/**
 * The tests that need neither PostgreSQL nor a port nor a clock that runs: `npm test -- --project pure` answers in seconds.
 * test/rules holds that none of them imports what needs the database.
 */
export const pureTests: readonly string[] = [
  "packages/gateway/test/codec/*.test.ts",
  "packages/gateway/test/http/body_budget.test.ts",
  "packages/gateway/test/http/http1/body_pieces.test.ts",
  "packages/gateway/test/http/http2/{errors,frame_reader,header_blocks,hpack}.test.ts",
  "packages/gateway/test/rest/*.test.ts",
  "test/{docs,errors,rules,messages,security}/*.test.ts",
  "test/config.test.ts",
  "test/guards/{caller_cache,remember,report,validate}.test.ts",
  "test/postgres/{failure,limiter,servers}.test.ts",
  "test/services/{compliance,password,phone_number}.test.ts",
  "test/tracing/{statement,trace_context}.test.ts",
  "test/{contract,transport}/{encoder,item_count,message_limit}.test.ts",
  "test/transport/standard/openapi.test.ts",
];
