import type { FactType } from "../../events/fact.ts";
import { type Ended, everything, type Happened } from "../../events/fact_cache.ts";

/** The maximum number of machines that a node caches, and of their grants, and the maximum size of one in JSON. */
export const mostCached = 1_000;
const mostCharacters = 16_384;

/** Whether a value is small enough to cache a thousand of them: a grant may have a thousand roles. */
export const isCacheable = (value: object): boolean => JSON.stringify(value).length <= mostCharacters;

type EndedBy = (fact: Happened) => Ended;

const none: EndedBy = () => undefined;
const all: EndedBy = () => everything;
const ofStream: EndedBy = ({ stream }) => stream;
const ofOwner: EndedBy = ({ owner }) => owner;

// A URI given to one API is taken from the API of another organization that had it.
const ofApplication: EndedBy = ({ type, owner }) => (type.startsWith("application.api_") ? everything : owner);

type Noun = FactType extends `${infer N}.${string}` ? N : never;

const nothing = {
  access_token: none,
  application: none,
  attempt: none,
  consent: none,
  delegation: none,
  delivery: none,
  domain: none,
  factor: none,
  instance: none,
  invitation: none,
  machine_credential: none,
  member: none,
  organization: none,
  policy: none,
  project: none,
  project_grant: none,
  registration: none,
  session: none,
  sign_on: none,
  signing_key: none,
  subscription: none,
  user: none,
  user_grant: none,
} satisfies Record<Noun, EndedBy>;

/** The cached machines that a fact evicts with their credentials, by the ids of the machine and its organization. */
export const machinesEndedBy = endedBy({
  ...nothing,
  user: ofStream,
  machine_credential: ofOwner,
  organization: ofStream,
});

/**
 * The cached grants of machines, with the APIs that they are for, that a fact evicts: by the ids of the machine, the project, its
 * organization and the grant's. Any domain may take the URI of an API from it.
 */
export const grantsEndedBy = endedBy({
  ...nothing,
  user: ofStream,
  user_grant: ofOwner,
  project: ofStream,
  project_grant: ofOwner,
  organization: ofStream,
  application: ofApplication,
  domain: all,
});

// A node of a newer release may write facts of nouns unknown here, which could change anything.
function endedBy(byNoun: Readonly<Record<Noun, EndedBy>>): EndedBy {
  const known: ReadonlyMap<string, EndedBy> = new Map(Object.entries(byNoun));
  return (fact) => (known.get(fact.type.slice(0, fact.type.indexOf("."))) ?? all)(fact);
}
