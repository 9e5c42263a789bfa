import type { ComponentChildren } from "preact";
import type { Reading } from "../calls/use_call.ts";
import type { Listing } from "../calls/use_list.ts";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { Button } from "./button.tsx";
import { Empty, Waiting } from "./page.tsx";
import { Trouble } from "./trouble.tsx";

export type Column<Row> = {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Whether narrow screens leave it out. */
  readonly isMinor?: boolean;
  /** Whether the column holds the acts on a row, at its end. */
  readonly isActs?: boolean;
};

type ListProps<Row> = {
  readonly of: Listing<Row>;
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly empty: ComponentChildren;
};

/** The rows that a call reads at once, as a list. */
export const listingOf = <Row,>(
  { refusal, isLoading, reload }: Reading<unknown>,
  rows: readonly Row[],
): Listing<Row> => ({ rows, refusal, isLoading, hasMore: false, more: reload, reload });

type ListOfProps<Row> = Pick<ListProps<Row>, "of" | "empty"> & {
  readonly children: (rows: readonly Row[]) => ComponentChildren;
};

/** Rows of any form, which load more on demand. */
export function ListOf<Row>({ of, empty, children }: ListOfProps<Row>) {
  if (of.rows.length === 0) {
    if (of.refusal) return <Trouble refusal={of.refusal} retry={of.reload} />;
    if (of.isLoading) return <Waiting />;
    return <>{typeof empty === "string" ? <Empty>{empty}</Empty> : empty}</>;
  }
  return (
    <>
      {children(of.rows)}
      {of.refusal && <Trouble refusal={of.refusal} retry={of.more} />}
      {of.hasMore && !of.refusal && (
        <div class="more">
          <Button onClick={of.more} isBusy={of.isLoading}>
            {t(partTexts.more)}
          </Button>
        </div>
      )}
    </>
  );
}

/** A table that loads more rows on demand. */
export function List<Row>({ of, label, columns, keyOf, empty }: ListProps<Row>) {
  return (
    <ListOf of={of} empty={empty}>
      {(rows) => (
        <table aria-label={label} aria-busy={of.isLoading}>
          <thead>
            <tr>
              {columns.map(({ title, isMinor, isActs }) => (
                <th key={title} scope="col" class={classOf({ isMinor, isActs })}>
                  {isActs ? <span class="said">{title}</span> : title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={keyOf(row)}>
                {columns.map(({ title, cell, isMinor, isActs }) => (
                  <td key={title} class={classOf({ isMinor, isActs })}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </ListOf>
  );
}

const classOf = ({ isMinor, isActs }: { isMinor: boolean | undefined; isActs: boolean | undefined }): string =>
  [isMinor ? "minor" : "", isActs ? "acts" : ""].join(" ").trim();
