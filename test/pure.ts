/**
 * The tests that need neither PostgreSQL nor a port nor a clock that runs: `npm test -- --project pure` answers in seconds.
 * test/house holds that none of them imports what needs the database.
 */
export const pureTests: readonly string[] = [
  "packages/gateway/test/http/http1/{body,head}.test.ts",
  "packages/gateway/test/http/http2/{blocks,errors,hpack,reader}.test.ts",
  "test/{docs,errors,house,messages,security}/*.test.ts",
  "test/config.test.ts",
  "test/guards/{caller_cache,remember,report,validate}.test.ts",
  "test/postgres/{failure,limiter}.test.ts",
  "test/services/{compliance,password,phone_number}.test.ts",
  "test/tracing/{statement,trace_context}.test.ts",
  "test/transport/{body_budget,item_count,json,message_limit,operations,problem}.test.ts",
  "test/transport/rest/*.test.ts",
  "test/transport/standard/openapi.test.ts",
];
