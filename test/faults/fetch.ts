// Fetches by npm what `npm run faults` needs of it: older versions of PostgreSQL, and the packages of 0.1.0. Whatever is there stays.
import { inHistory } from "../fixture/history.ts";
import { releaseOf, zeroOne } from "./earlier_release.ts";
import installPostgres from "./postgres_versions.ts";

await installPostgres();
if (inHistory(zeroOne)) await releaseOf(zeroOne);
