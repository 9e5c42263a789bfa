import type { FactType } from "../../events/fact.ts";
import type { Happened } from "../../events/fact_cache.ts";

/** What is cached about a machine: whose it is, and the organizations that it depends on. */
export type OfMachine = { readonly userId: string; readonly owners: readonly string[] };

/** How many machines, and as many of their grants, a node caches. */
export const mostCached = 1_000;

type Ends = (one: OfMachine, fact: Happened) => boolean;

const never: Ends = () => false;
const always: Ends = () => true;
const itself: Ends = ({ userId }, { stream }) => userId === stream;
const within: Ends = ({ owners }, { owner }) => owners.includes(owner);

type Noun = FactType extends `${infer N}.${string}` ? N : never;

const nothing = {
  access_token: never,
  application: never,
  attempt: never,
  consent: never,
  delivery: never,
  domain: never,
  factor: never,
  instance: never,
  invitation: never,
  machine_credential: never,
  member: never,
  organization: never,
  policy: never,
  project: never,
  project_grant: never,
  registration: never,
  session: never,
  sign_on: never,
  signing_key: never,
  subscription: never,
  user: never,
  user_grant: never,
} satisfies Record<Noun, Ends>;

/** Which cached machines with their credentials a fact ends. */
export const machinesEndedBy = endedBy({ ...nothing, user: itself, machine_credential: within, organization: always });

/** Which cached grants of machines, with the API that they are for, a fact ends. The domain of an API may be another organization's next. */
export const grantsEndedBy = endedBy({
  ...nothing,
  user: itself,
  user_grant: within,
  project: within,
  application: within,
  organization: always,
  project_grant: always,
  domain: always,
});

// A node of a newer release may write facts of nouns unknown here, which could end anything.
function endedBy(byNoun: Readonly<Record<Noun, Ends>>) {
  const all: ReadonlyMap<string, Ends> = new Map(Object.entries(byNoun));
  return (fact: Happened) => {
    const ends = all.get(fact.type.slice(0, fact.type.indexOf("."))) ?? always;
    return ends === never ? undefined : (one: OfMachine) => ends(one, fact);
  };
}
