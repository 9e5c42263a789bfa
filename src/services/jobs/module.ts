import type { Deps } from "../../deps.ts";
import { jobRules, jobService, jobsOfEarlierReleases, oldJobs } from "./job.ts";

type Parts = { readonly deps: Deps };

export const jobs = {
  serves: { JobService: ({ deps }: Parts) => jobService(deps) },
  rules: () => jobRules,
  chores: ({ deps }: Parts) => [oldJobs(deps), jobsOfEarlierReleases(deps)],
};
