/**
 * The tests of `npm run test:thorough` that start servers. They take long because they repeat: races, fuzz, faults of the database,
 * plans on large data, the same scenes through other engines, one attack on each rpc, limits that only a thousand rows reach, programs
 * that start and stop.
 */
export const longTests: readonly string[] = [
  "packages/gateway/test/http/**/fuzz/*.test.ts",
  "packages/gateway/test/http/{last_response,shutdown,slow_clients}.test.ts",
  "packages/gateway/test/http/http1/raw_table.test.ts",
  "packages/gateway/test/http/http2/lifecycle.test.ts",
  "packages/gateway/test/http/node_http2/*.test.ts",
  "packages/gateway/test/package/*.test.ts",
  "test/clients/*.test.ts",
  "test/config/preflight.test.ts",
  "test/events/{history,numbering,rebuild,restore,workload}.test.ts",
  "test/faults/short/*.test.ts",
  "test/fuzz/*.test.ts",
  "test/guards/{climb_everyone,foreign_ids,gate_deadline,idempotency_record,limited_token,secrets}.test.ts",
  "test/maintenance/*.test.ts",
  "test/notify/{delivery,kill,upgrade}.test.ts",
  "test/parity/{adapter_calls,deadline,every_door,outcome,packing,size}.test.ts",
  "test/plans/*.test.ts",
  "test/postgres/**/*.test.ts",
  "test/program/*.test.ts",
  "test/provider/{events,races,web_server_example}.test.ts",
  "test/provider/{device/{device_example,device_nodes},http/fetcher,logout/{back_channel_logout,silent_neighbours}}.test.ts",
  "test/provider/tokens/{offline,rotation_under_load}.test.ts",
  "test/server/{fault,first_start,neighbours,nodes,reference,shutdown,signal,welcome}.test.ts",
  "test/services/{applications/document_application,jobs/job,sessions/sign_in_limit,user_grants/user_grant_races,users/{erasure,erasure_races}}.test.ts",
  "test/tracing/tracing.test.ts",
  "test/transfer/*.test.ts",
  "test/workers/*.test.ts",
];
