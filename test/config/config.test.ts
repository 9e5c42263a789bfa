import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { masterKeys, readConfig, settings, settingWarnings, tracesOf } from "../../src/config/config.ts";
import { ConfigError } from "../../src/config/setting.ts";

const key = Buffer.alloc(32, 7).toString("base64");
const external = { DATABASE_URL: "postgresql://u:p@db:5432/postern", POSTERN_MASTER_KEY: key };

test("without any setting everything has its default, and is frozen", () => {
  const config = readConfig({});
  expect(config).toMatchObject({ host: "127.0.0.1", port: 8080, dataDir: "./data", databaseConnections: 16 });
  expect(config).toMatchObject({ signInFailuresPerAddressPerMinute: 100 });
  expect(Object.isFrozen(config)).toBe(true);
});

test("an empty setting is as good as none", () => {
  expect(readConfig({ PORT: "", DATABASE_URL: " " })).toMatchObject({ port: 8080, databaseUrl: undefined });
});

test("every setting says what it means, once", () => {
  for (const { name, meaning } of settings) {
    expect(name).toMatch(/^[A-Z][A-Z0-9_]+$/);
    expect(meaning.length).toBeGreaterThan(10);
  }
  expect(new Set(settings.map(({ name }) => name)).size).toBe(settings.length);
});

test.each([
  ["PORT", "http"],
  ["PORT", "65536"],
  ["PORT", "-1"],
  ["PORT", "1e3"],
  ["DATABASE_CONNECTIONS", "0"],
  ["DEADLINE_MAX_MS", "2147483648"],
  ["LOG_LEVEL", "loud"],
  ["WORKERS", "0"],
  ["WORKERS", "all"],
  ["LOG_FORMAT", "xml"],
  ["PHONE_DEFAULT_REGION", "Switzerland"],
  ["CORS_ORIGINS", "app.example"],
  ["CORS_ORIGINS", "https://app.example/"],
  ["OPERATIONS_PORT", "65536"],
  ["PORT_SERVES", "metrics,all"],
  ["PORT_SERVES", "none,docs"],
  ["CALLS_PER_CALLER_PER_MINUTE", "60000001"],
  ["TRUSTED_PROXIES", "proxy.example"],
  ["TRUSTED_PROXIES", "10.0.0.0/33"],
  ["TRUSTED_PROXIES", "10.0.0.1,"],
  ["TRUSTED_PROXIES", "::1/64/2"],
  ["SIGN_IN_FAILURES_PER_ADDRESS_PER_MINUTE", "-1"],
  ["TLS_CERT_FILE", "cert.pem"],
  ["DATABASE_URL", "mysql://db/postern"],
  ["DATABASE_URL", "postgresql://one,,two/postern"],
  ["DATABASE_URL", "postgresql://one:1,two:2,three:x/postern"],
  ["DATABASE_URL", "postgresql://one,two/postern?target_session_attrs=prefer-standby"],
  ["DATABASE_URL", "postgresql://one,two/postern?load_balance_hosts=random"],
  ["PGTARGETSESSIONATTRS", "read-write"],
  ["DATABASE_URL", "postgresql://one/postern?sslmode=always"],
  ["POSTERN_MASTER_KEY", "short"],
  ["POSTERN_MASTER_KEY", `${key},short`],
  ["POSTERN_MASTER_KEY", `${key},${key}`],
  ["POSTERN_ADMIN_TOKEN", "two words"],
  ["MIGRATION_DATABASE_URL", "postgresql://owner@db/postern"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318"],
  ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "authorization"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "two words=1"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "authorization=a%0ab"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "authorization=%ff"],
  ["OTEL_TRACES_SAMPLER", "sometimes"],
  ["OTEL_TRACES_SAMPLER_ARG", "1.5"],
  ["OTEL_TRACES_SAMPLER_ARG", "half"],
])("%s=%s is refused by one sentence that names it", (name, value) => {
  const read = () => readConfig({ [name]: value });
  expect(read).toThrow(ConfigError);
  expect(read).toThrow(new RegExp(`^${name} .*[^.\\n]$`));
});

test("WORKERS takes a number or the cores, and as many connections as go with them", () => {
  const read = (env: Record<string, string>) => {
    const { workers, databaseConnections } = readConfig(env);
    return [workers, databaseConnections];
  };
  expect(readConfig({ WORKERS: "auto" }).workers).toBe(Math.min(availableParallelism(), 64));
  expect(read({})).toEqual([1, 16]);
  expect(read({ WORKERS: "2" })).toEqual([2, 16]);
  expect(read({ WORKERS: "4" })).toEqual([4, 32]);
  expect(read({ WORKERS: "32" })).toEqual([32, 64]);
  expect(read({ WORKERS: "4", DATABASE_CONNECTIONS: "6" })).toEqual([4, 6]);
  expect(() => read({ WORKERS: "4", DATABASE_CONNECTIONS: "3" })).toThrow(/^DATABASE_CONNECTIONS is 3, too few for 4/);
});

test("a password of a database is in no refusal", () => {
  expect(() => readConfig({ DATABASE_URL: "postgresql://u:hidden@one,,two/x" })).not.toThrow(/hidden/);
});

test("a database of one's own needs a master key", () => {
  expect(() => readConfig({ DATABASE_URL: external.DATABASE_URL })).toThrow(/^POSTERN_MASTER_KEY is required/);
  expect(readConfig(external).masterKeys).toEqual([Buffer.alloc(32, 7)]);
});

test("several master keys are read in order", async () => {
  const next = Buffer.alloc(32, 9);
  const config = readConfig({ ...external, POSTERN_MASTER_KEY: `${next.toString("base64")}, ${key}` });
  expect(await masterKeys(config)).toEqual([next, Buffer.alloc(32, 7)]);
});

test("with the embedded database a key is generated once, for the owner's eyes only", async () => {
  const folder = await mkdtemp(join(tmpdir(), "postern-config-"));
  const config = readConfig({ POSTERN_DATA_DIR: join(folder, "data") });
  const [one, two] = await Promise.all([masterKeys(config), masterKeys(config)]);
  expect(one).toEqual(two);
  expect(one[0]).toHaveLength(32);
  expect((await stat(join(folder, "data/master-key"))).mode & 0o777).toBe(0o600);
  expect(await readFile(join(folder, "data/master-key"), "utf8")).toMatch(/^\S{44}\n$/);
  await rm(folder, { recursive: true });
});

test("traces go where OpenTelemetry says, under the name given", () => {
  expect(tracesOf(readConfig({}))).toBeUndefined();
  const base = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };
  expect(tracesOf(readConfig(base))).toEqual({
    collector: { url: "http://collector:4318/v1/traces", headers: {}, resource: { "service.name": "postern" } },
    ...{ sampler: "parentbased_traceidratio", ratio: 1 },
  });
  const traced = { ...base, OTEL_RESOURCE_ATTRIBUTES: "service.name=mine, deployment.environment.name=test%20one" };
  const where = { "deployment.environment.name": "test one" };
  const resourceOf = (env: Record<string, string>) => tracesOf(readConfig(env))?.collector.resource;
  expect(resourceOf(traced)).toEqual({ "service.name": "mine", ...where });
  expect(resourceOf({ ...traced, OTEL_SERVICE_NAME: "other" })).toEqual({ "service.name": "other", ...where });
  const whole = { ...base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://collector/otlp/traces?key=1" };
  expect(tracesOf(readConfig(whole))?.collector.url).toBe("https://collector/otlp/traces?key=1");
  const headers = { ...base, OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20YTpi, x-team=a=b" };
  expect(tracesOf(readConfig(headers))?.collector.headers).toEqual({ authorization: "Basic YTpi", "x-team": "a=b" });
});

test("a start warns of trusted proxies that are a whole private range", () => {
  const warned = (proxies: string) =>
    settingWarnings({ TRUSTED_PROXIES: proxies }).map((one) => one.replace(/^TRUSTED_PROXIES has (\S+), .*$/, "$1"));
  expect(warned("10.0.0.0/8, 172.16.0.0/12,192.168.0.0/16,fd00::/8")).toEqual([
    ...["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fd00::/8"],
  ]);
  expect(warned("0.0.0.0/0,::/0,8.0.0.0/5,fc00::/7")).toEqual(["0.0.0.0/0", "::/0", "8.0.0.0/5", "fc00::/7"]);
  expect(warned("10.203.114.2,10.0.0.0/9,172.17.0.0/16,192.168.0.0/24,fd12:3456::/32,2001:db8::/32,9.0.0.0/8")).toEqual(
    [],
  );
});
