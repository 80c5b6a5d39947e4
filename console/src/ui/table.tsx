// A list as a table that grows by cursor pages. Each page is one row group that is made once: a tenth page costs no more
// than the first. `columns` is a constant, or kept by useMemo.

import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import type { List } from '../queries.ts'
import { Button } from './button.tsx'
import { ProblemNotice, Skeleton } from './notice.tsx'

export type Column<Row> = {
  head: string
  cell: (row: Row) => ReactNode
  /** Numbers stand right. */
  align?: 'end'
  /** Left out on a phone: two or three columns fit. */
  wide_only?: boolean
  /** The head is for those who hear the page, as of a column of buttons. */
  head_unseen?: boolean
  width?: string
}

type TableProps<Row> = {
  /** What the list is of; its name for those who hear the page. */
  label: string
  columns: readonly Column<Row>[]
  list: List<Row>
  rowKey: (row: Row) => string
  /** In place of an empty table. */
  empty: ReactNode
}

export function DataTable<Row>({ label, columns, list, rowKey, empty }: TableProps<Row>) {
  const { pages, problem } = list
  if (!pages)
    return problem ? <ProblemNotice problem={problem} onRetry={list.retry} /> : <Skeleton />
  // A page that looked through much and found nothing may have others after it.
  if (!list.has_more && pages.every((page) => page.length === 0)) return empty
  return (
    <>
      <ScrollArea label={label}>
        <table className="table">
          <caption className="unseen">{label}</caption>
          <thead>
            <tr>
              {columns.map((column) => (
                <th
                  key={column.head}
                  scope="col"
                  className={cellClass(column)}
                  style={{ width: column.width }}
                >
                  {column.head_unseen ? <span className="unseen">{column.head}</span> : column.head}
                </th>
              ))}
            </tr>
          </thead>
          {pages.map((rows, page) => (
            // Pages are only ever added at the end.
            <RowGroup key={page} rows={rows} columns={columns} rowKey={rowKey} />
          ))}
        </table>
      </ScrollArea>
      {problem && <ProblemNotice problem={problem} onRetry={list.loadMore} />}
      {list.has_more && (
        <p className="more">
          <Button busy={list.is_loading_more} onClick={list.loadMore}>
            {list.is_loading_more ? 'Loading…' : 'Load more'}
          </Button>
        </p>
      )}
    </>
  )
}

function RowGroup<Row>(props: {
  rows: readonly Row[]
  columns: readonly Column<Row>[]
  rowKey: (row: Row) => string
}) {
  const { rows, columns, rowKey } = props
  return useMemo(
    () => (
      <tbody>
        {rows.map((row) => (
          <tr key={rowKey(row)}>
            {columns.map((column) => (
              <td key={column.head} className={cellClass(column)}>
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    ),
    [rows, columns, rowKey],
  )
}

function cellClass({ align, wide_only }: { align?: 'end'; wide_only?: boolean }): string {
  return `${align === 'end' ? 'end' : ''} ${wide_only ? 'wide-only' : ''}`.trim()
}

/** Reachable by keyboard only while there is something to scroll to. */
export function ScrollArea({ label, children }: { label: string; children: ReactNode }) {
  const area = useRef<HTMLDivElement>(null)
  const [scrolls, setScrolls] = useState(false)
  useEffect(() => {
    const shown = area.current
    if (!shown) return undefined
    const observer = new ResizeObserver(() =>
      setScrolls(shown.scrollWidth > shown.clientWidth || shown.scrollHeight > shown.clientHeight),
    )
    observer.observe(shown)
    // What is inside may grow while the area stays as wide as it was.
    for (const inside of shown.children) observer.observe(inside)
    return () => observer.disconnect()
  }, [])
  const reachable = scrolls ? { tabIndex: 0, role: 'region', 'aria-label': label } : {}
  return (
    <div ref={area} className="scroll-area" {...reachable}>
      {children}
    </div>
  )
}
