// The list of shortcuts. `?` opens it outside of fields, and can be turned off: a lone character may be spoken or
// pressed by accident (WCAG 2.1.4).

import { useState } from 'react'
import { Dialog } from '../ui/dialog.tsx'
import { isQuestionMarkOn, setQuestionMark } from './shortcut-keys.ts'

const SHORTCUTS: readonly (readonly [keys: string, what: string])[] = [
  ['Ctrl K or ⌘ K', 'Search: pages, acts, ids'],
  ['?', 'This list'],
  ['Escape', 'Close what is open'],
  ['← →', 'In a chart: walk the bars. In tabs: the next one'],
  ['↑ ↓', 'In the search: walk the results'],
  ['Enter', 'Follow the chosen result, or send a form'],
]

export default function Shortcuts({ onClose }: { onClose: () => void }) {
  const [is_on, setOn] = useState(isQuestionMarkOn)
  const change = () => {
    setQuestionMark(!is_on)
    setOn(!is_on)
  }
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="shortcuts">
        {SHORTCUTS.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <label className="row">
        <input type="checkbox" checked={is_on} onChange={change} /> Open this list with ?
      </label>
    </Dialog>
  )
}
