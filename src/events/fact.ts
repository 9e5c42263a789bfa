import {
  create,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonValue,
  type MessageInitShape,
  toJson,
} from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { Details } from "../../gen/postern/v1/details_pb.ts";
import { type Fact, FactSchema } from "../../gen/postern/v1/event_pb.ts";

type NounCase = Extract<Fact["noun"], { value: unknown }>;

/** The nouns that facts are about, as `Fact.noun` spells them. */
export type FactNoun = Exclude<NounCase["case"], undefined>;

type FactsOf<N extends FactNoun> = Extract<NounCase, { case: N }>["value"];
/** A fact about a noun, before its position is known. */
export type FactInit<N extends FactNoun> = Exclude<
  NonNullable<MessageInitShape<GenMessage<FactsOf<N>>>["fact"]>,
  { case: undefined }
>;

/** The kinds of fact about a noun. */
export type FactCase<N extends FactNoun> = Exclude<FactsOf<N>["fact"]["case"], undefined>;

/** The name of a kind of fact in the log, such as `user.phone_changed`. */
export type FactType = { [N in FactNoun]: `${Snake<N>}.${Snake<FactCase<N>>}` }[FactNoun];

type Snake<S extends string> = S extends `${infer A}${infer Rest}`
  ? `${A extends Lowercase<A> ? A : `_${Lowercase<A>}`}${Snake<Rest>}`
  : S;

/** The position of a fact in its object's history, and its time. */
export type At = {
  readonly owner: string;
  readonly stream: string;
  readonly version: bigint;
  readonly time: Date;
  /** When the object was created; absent for its first fact. */
  readonly created?: Date;
};

/** A fact to append. */
export type NewFact = {
  readonly type: string;
  readonly at: At;
  readonly payload: JsonValue;
  /** Input for the fold's credential statements; never enters the log. */
  readonly secret?: JsonValue;
  /** The user who acted, if the call has no caller because it signs in. */
  readonly by?: string;
  /** The user whom it concerns, if only the first fact of its object says so. */
  readonly about?: string;
};

/** The part of an object that its history determines. */
export type Versioned = {
  readonly owner: string;
  readonly id: string;
  readonly version: bigint;
  readonly created: Date;
  readonly changed: Date;
};

type Kind = {
  readonly type: string;
  readonly desc: DescMessage;
  /** The fact's field in the JSON of `Fact`. */
  readonly noun: string;
  readonly name: string;
};

const kinds: ReadonlyMap<string, Kind> = new Map(FactSchema.fields.flatMap(kindsOf).map((kind) => [keyOf(kind), kind]));

/** The name of a kind of fact in the log, such as `user.phone_changed`. */
export function typeOf<N extends FactNoun>(noun: N, kind: FactCase<N>): string {
  return kindOf(noun, kind).type;
}

/** The descriptor of a fact type; undefined if this version does not know it. */
export function descOf(type: string): DescMessage | undefined {
  return byType.get(type)?.desc;
}

/** The descriptor of each fact type. */
export const descsByType = (): readonly (readonly [string, DescMessage])[] =>
  [...byType].map(([type, { desc }]) => [type, desc] as const);

/** Converts a stored fact to its message; undefined if this version does not know its type. */
export function factFrom(type: string, payload: JsonValue): Fact | undefined {
  const kind = byType.get(type);
  return kind && fromJson(FactSchema, { [kind.noun]: { [kind.name]: payload } }, { ignoreUnknownFields: true });
}

const byType: ReadonlyMap<string, Kind> = new Map([...kinds.values()].map((kind) => [kind.type, kind]));

/** Makes a fact at the next position of an object. */
export function factOf<N extends FactNoun>(noun: N, at: At, fact: FactInit<N>, secret?: JsonValue): NewFact {
  const { type, desc } = kindOf(noun, fact.case as string);
  const payload = toJson(desc, create(desc, fact.value as MessageInitShape<DescMessage>), { alwaysEmitImplicit: true });
  return secret === undefined ? { type, at, payload } : { type, at, payload, secret };
}

/** Makes a fact that has no content besides its kind. */
export function plainFact<N extends FactNoun>(noun: N, at: At, kind: FactCase<N>): NewFact {
  const { type, desc } = kindOf(noun, kind);
  return { type, at, payload: toJson(desc, create(desc), { alwaysEmitImplicit: true }) };
}

/** The first position in a new object's history. */
export const first = (owner: string, stream: string, time: Date): At => ({ owner, stream, version: 1n, time });

/** The position after an object's last fact. Time never runs backwards within a history, even if nodes' clocks differ. */
export const next = ({ owner, id, version, created, changed }: Versioned, time: Date): At => ({
  owner,
  stream: id,
  version: version + 1n,
  time: time < changed ? changed : time,
  created,
});

/** The details of an object for a read, built as a complete message. */
export function details({ owner, version, created, changed }: Versioned): Details {
  return {
    $typeName: "postern.v1.Details",
    sequence: version,
    creationDate: timestampOf(created),
    changeDate: timestampOf(changed),
    resourceOwner: owner,
  };
}

function timestampOf(time: Date): Timestamp {
  const ms = time.getTime();
  const seconds = Math.floor(ms / 1000);
  return { $typeName: "google.protobuf.Timestamp", seconds: BigInt(seconds), nanos: (ms - seconds * 1000) * 1e6 };
}

/** The details of an object once the fact at this position is appended. */
export const detailsAfter = ({ owner, stream, version, time, created = time }: At) =>
  details({ owner, id: stream, version, created, changed: time });

function kindsOf(noun: DescField): Kind[] {
  return (noun.message?.fields ?? []).flatMap(({ message, name, localName }) =>
    message ? [{ type: `${noun.name}.${name}`, desc: message, noun: noun.localName, name: localName }] : [],
  );
}

function keyOf({ noun, name }: Kind): string {
  return `${noun}.${name}`;
}

function kindOf(noun: string, kind: string): Kind {
  const found = kinds.get(`${noun}.${kind}`);
  if (!found) throw new Error(`there is no fact ${noun}.${kind}`);
  return found;
}
