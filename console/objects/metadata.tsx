import type { MetadataEntryJson } from "../../gen/postern/v1/metadata_pb.ts";
import { type At, atVersion } from "../calls/at_version.ts";
import type { Reading } from "../calls/use_call.ts";
import { Ask } from "../parts/ask.tsx";
import { Badge } from "../parts/badge.tsx";
import type { Version } from "../parts/conflict.tsx";
import { EditDialog } from "../parts/edit_dialog.tsx";
import type { Draft, Field } from "../parts/field.tsx";
import type { Submission } from "../parts/form.tsx";
import { List, listingOf } from "../parts/list.tsx";
import { Menu } from "../parts/menu.tsx";
import { Card, Empty } from "../parts/page.tsx";
import { say } from "../parts/toasts.tsx";
import type { Save } from "../parts/version_form.tsx";
import { metadataTexts } from "../texts/metadata.ts";
import { objectTexts } from "../texts/objects.ts";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";

type Entries = readonly MetadataEntryJson[];

/** A store of metadata: how it is read and written, and the version of its object. */
export type MetadataStore = {
  readonly reading: Reading<{ entries?: MetadataEntryJson[] }>;
  readonly sequence: string;
  readonly read: () => Promise<At<Entries>>;
  readonly write: (
    request: { entries: MetadataEntryJson[]; expectedSequence: string },
    key: string,
  ) => Promise<unknown>;
  readonly mayWrite: boolean;
  readonly onChanged: () => Promise<void>;
};

/** The texts of an object by key. Entries that others write under other keys meanwhile stay. */
export function Metadata(store: MetadataStore) {
  const { reading, sequence, read, write, mayWrite, onChanged } = store;
  const entries = reading.data?.entries ?? [];
  const set = async (entry: MetadataEntryJson, key: string) => {
    const valueIn = (all: Entries) => all.find((one) => one.key === entry.key);
    await atVersion({
      seen: { value: valueIn(entries), sequence },
      read: async () => {
        const now = await read();
        return { value: valueIn(now.value), sequence: now.sequence };
      },
      write: (expectedSequence, once) => write({ entries: [entry], expectedSequence }, once),
      key,
    }).finally(reading.reload);
    say(t(partTexts.saved));
    await onChanged();
  };
  const isTaken = ({ key }: Draft) =>
    entries.some((one) => one.key === key) ? { field: "key", text: t(metadataTexts.taken) } : undefined;
  return (
    <Card
      class="flush metadata"
      title={t(metadataTexts.metadata)}
      about={t(metadataTexts.about)}
      actions={
        mayWrite && (
          <Ask
            text={t(metadataTexts.add)}
            icon="plus"
            id="add-entry"
            fields={[{ name: "key", label: t(metadataTexts.key), help: t(metadataTexts.keyAbout) }, ...fields()]}
            values={{ key: "", value: "", shared: false }}
            check={isTaken}
            act={({ draft, key }) => set(entryOf(draft), key)}
          />
        )
      }
    >
      <List
        of={listingOf(reading, entries)}
        label={t(metadataTexts.metadata)}
        keyOf={({ key = "" }) => key}
        columns={[
          { title: t(metadataTexts.key), cell: ({ key }) => <code>{key}</code> },
          { title: t(metadataTexts.value), cell: (entry) => <Value entry={entry} /> },
          {
            title: t(partTexts.acts),
            cell: (entry) => mayWrite && <Acts entry={entry} store={store} set={set} />,
            isActs: true,
          },
        ]}
        empty={<Empty>{t(metadataTexts.none)}</Empty>}
      />
    </Card>
  );
}

const fields = (): readonly Field[] => [
  { name: "value", label: t(metadataTexts.value), isOptional: true, kind: "area" },
  { name: "shared", label: t(metadataTexts.shared), kind: "switch", help: t(metadataTexts.sharedAbout) },
];

const versionOf = ({ value = "", shared = false }: MetadataEntryJson, sequence: string): Version => ({
  values: { value, shared },
  sequence,
});

const entryOf = ({ key, value, shared }: Draft): MetadataEntryJson => ({
  key: String(key),
  value: String(value),
  shared: shared === true,
});

function Value({ entry: { value, shared } }: { readonly entry: MetadataEntryJson }) {
  return (
    <>
      <bdi>{value}</bdi> {shared && <Badge>{t(metadataTexts.shared)}</Badge>}
    </>
  );
}

type ActsProps = {
  readonly entry: MetadataEntryJson;
  readonly store: MetadataStore;
  readonly set: (entry: MetadataEntryJson, key: string) => Promise<void>;
};

function Acts({ entry, store: { reading, sequence, read, write, onChanged }, set }: ActsProps) {
  const { key: name = "" } = entry;
  const readEntry = async () => {
    const now = await read();
    return versionOf(now.value.find((one) => one.key === name) ?? {}, now.sequence);
  };
  const save = ({ draft, expectedSequence, key }: Save) =>
    write({ entries: [{ ...entryOf(draft), key: name }], expectedSequence }, key);
  return (
    <Menu>
      <EditDialog
        title={name}
        fields={fields()}
        version={versionOf(entry, sequence)}
        read={readEntry}
        save={save}
        onSaved={() => Promise.all([reading.reload(), onChanged()])}
      />
      <Ask
        text={t(objectTexts.remove)}
        kind="danger"
        about={t(metadataTexts.removeAbout, { key: name })}
        // An entry without a value removes its key.
        act={({ key }: Submission) => set({ key: name }, key)}
      />
    </Menu>
  );
}
