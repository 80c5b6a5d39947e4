// What can be done with one thing, behind a button with three dots; and the column of a table that has one in each row.
//
//   actsColumn((row) => (
//     <ActMenu label={`Change ${row.name}`} acts={[['Edit', () => open('edit', row.id)], row.active && ['Pause', …]]} />
//   ))

import type { ReactNode } from 'react'
import { Sign } from './icons.tsx'
import { Menu } from './menu.tsx'
import type { Column } from './table.tsx'

export type Act = readonly [words: string, act: () => void]

/** What is false cannot be done now, and is left out. */
export function ActMenu({ label, acts }: { label: string; acts: readonly (Act | false)[] }) {
  return (
    <Menu label={label} face={<Sign name="more" />}>
      {(close) => (
        <ul>
          {acts
            .filter((act) => act !== false)
            .map(([words, act]) => (
              <li key={words}>
                <button
                  type="button"
                  onClick={() => {
                    close()
                    act()
                  }}
                >
                  {words}
                </button>
              </li>
            ))}
        </ul>
      )}
    </Menu>
  )
}

export function actsColumn<Row>(cell: (row: Row) => ReactNode): Column<Row> {
  return { head: 'Acts', head_unseen: true, align: 'end', width: '3.5rem', cell }
}
