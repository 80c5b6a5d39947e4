// Tabs whose choice stands in the address (`?tab=users`), or in the page if nobody would link to it.

import { type KeyboardEvent, type ReactNode, useId, useState } from 'react'
import { text, useUrlState } from '../url-state.ts'

export type Tab = { id: string; label: string; content: ReactNode }

const VIEW = { tab: text() }

export function UrlTabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const [{ tab }, setView] = useUrlState(VIEW)
  const choose = (id: string) => setView({ tab: id === tabs[0]?.id ? '' : id })
  return <TabList label={label} tabs={tabs} chosen={tab} onChoose={choose} />
}

export function PageTabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const [chosen, setChosen] = useState('')
  return <TabList label={label} tabs={tabs} chosen={chosen} onChoose={setChosen} />
}

type TabListProps = {
  label: string
  tabs: readonly Tab[]
  chosen: string
  onChoose: (id: string) => void
}

function TabList({ label, tabs, chosen, onChoose }: TabListProps) {
  const id = useId()
  const at = Math.max(
    0,
    tabs.findIndex((tab) => tab.id === chosen),
  )
  const move = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    const next = step === undefined ? undefined : tabs[(at + step + tabs.length) % tabs.length]
    if (!next) return
    event.preventDefault()
    onChoose(next.id)
    event.currentTarget.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus()
  }
  return (
    <div className="tabs">
      <div className="tab-list" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map((tab, index) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            data-tab={tab.id}
            id={`${id}-${tab.id}`}
            aria-selected={index === at}
            aria-controls={`${id}-shown`}
            tabIndex={index === at ? 0 : -1}
            onClick={() => onChoose(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div id={`${id}-shown`} role="tabpanel" aria-labelledby={`${id}-${tabs[at]?.id}`}>
        {tabs[at]?.content}
      </div>
    </div>
  )
}
