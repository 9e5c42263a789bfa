import { JobService } from "../../../gen/postern/v1/job_pb.ts";
import type { Deps } from "../../deps.ts";
import { serving } from "../module.ts";
import { jobRules, jobService, jobsOfEarlierReleases, oldJobs } from "./job.ts";

type Parts = { readonly deps: Deps };

export const jobs = {
  serves: [serving(JobService, ({ deps }: Parts) => jobService(deps))],
  rules: () => jobRules,
  chores: ({ deps }: Parts) => [oldJobs(deps), jobsOfEarlierReleases(deps)],
};
