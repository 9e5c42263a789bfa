/**
 * The tests that need neither PostgreSQL nor a port nor a clock that runs: `npm test -- --project pure` answers in about a second.
 * test/rules holds that none of them imports what needs the database.
 */
export const pureTests: readonly string[] = [
  "packages/gateway/test/codec/{json,open_values,problems}.test.ts",
  "packages/gateway/test/http/{body_budget,proxy_header}.test.ts",
  "packages/gateway/test/http/http1/body_pieces.test.ts",
  "packages/gateway/test/http/http2/{errors,header_blocks}.test.ts",
  "packages/gateway/test/rest/*.test.ts",
  "packages/gateway/test/services/{openapi_rules,samples}.test.ts",
  "test/{conformance,docs,errors,messages}/*.test.ts",
  "test/config/{config,logger}.test.ts",
  "test/events/{batch,fact_cache,look_again,personal}.test.ts",
  "test/guards/{caller_cache,large_calls,late_refusals,late_rules,cached_lookup,report,validate}.test.ts",
  "test/metrics/merge.test.ts",
  "test/notify/{retry_after,silence,webhook}.test.ts",
  "test/postgres/{failure,pool/servers}.test.ts",
  "test/provider/pages/offered_roles.test.ts",
  "test/provider/request/{client_document,client_keys,machine_facts,redirect_uri}.test.ts",
  "test/security/{code,failure_rate,held_places,limiter,pace,pieces,places,priority,raster,seal,token,totp,user_code,word_set}.test.ts",
  "test/services/{domains/domain_name,domains/judge_check,passwords/{password,password_guess},reading/row,verification/phone_number}.test.ts",
  "test/services/callers/*.test.ts",
  "test/tracing/{statement,trace_context}.test.ts",
  "test/transfer/progress.test.ts",
  "test/workers/share.test.ts",
];

/** Those that need no more, but take longer: they read the sources with the compiler, hash passwords, or try very many inputs. */
export const slowPureTests: readonly string[] = [
  "packages/gateway/test/codec/json_fault.test.ts",
  "packages/gateway/test/http/http2/{frame_reader,hpack}.test.ts",
  "test/contract/{item_count,libraries,message_limit,openapi,openapi_shape,pieces,proto_files}.test.ts",
  "test/guards/retry.test.ts",
  "test/rules/*.test.ts",
  "test/server/loaded_modules.test.ts",
  "test/security/{foreign_hash,hash_queue,password,password_rule}.test.ts",
  "test/services/{applications/compliance,organizations/shown_colors}.test.ts",
];
