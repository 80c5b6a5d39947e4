// Code in an answer: plain at once, in colours when it has stopped growing. The colours load when first needed.

import { type ReactNode, useEffect, useState } from 'react'
import { CopyButton } from '../ui/copy.tsx'
import { ScrollArea } from '../ui/table.tsx'

const STILL_MS = 200
/** Colours of more than this would take longer than they are worth. */
const COLOURED_MAX = 50_000
const LABEL_MAX = 40

export function CodeBlock({ code, language }: { code: string; language: string }) {
  const coloured = useColours(code, language)
  return (
    <div className="snippet">
      <ScrollArea label={`Code: ${code.trim().slice(0, LABEL_MAX)}`}>
        <pre>
          <code>{coloured ?? code}</code>
        </pre>
      </ScrollArea>
      <CopyButton text={code} />
    </div>
  )
}

function useColours(code: string, language: string): ReactNode {
  const [coloured, setColoured] = useState<{ code: string; shown: ReactNode } | undefined>()
  useEffect(() => {
    if (code.length > COLOURED_MAX) return undefined
    let is_left = false
    const timer = setTimeout(() => {
      void import('./colours.tsx').then(({ colourCode }) => {
        if (!is_left) setColoured({ code, shown: colourCode(code, language) })
      })
    }, STILL_MS)
    return () => {
      is_left = true
      clearTimeout(timer)
    }
  }, [code, language])
  return coloured?.code === code ? coloured.shown : undefined
}
