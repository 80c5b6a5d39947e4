// Colours of code by lowlight, as React elements. A chunk of its own: most answers have no code.

import bash from 'highlight.js/lib/languages/bash'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import python from 'highlight.js/lib/languages/python'
import { createLowlight } from 'lowlight'
import { Fragment, type ReactNode } from 'react'

const lowlight = createLowlight({ bash, javascript, json, python })
lowlight.registerAlias({
  bash: ['sh', 'shell', 'curl', 'console'],
  javascript: ['js', 'ts', 'typescript', 'jsx', 'tsx'],
  python: ['py'],
})

/** Undefined for a language that is not known here. */
export function colourCode(code: string, language: string): ReactNode {
  const [name = ''] = language.trim().toLowerCase().split(/\s/, 1)
  if (!lowlight.registered(name)) return undefined
  return lowlight.highlight(name, code).children.map(render)
}

type Node = ReturnType<typeof lowlight.highlight>['children'][number]

function render(node: Node, place: number): ReactNode {
  if (node.type === 'text') return node.value
  if (node.type !== 'element') return null
  const names = node.properties['className']
  const children = node.children.map(render)
  if (!Array.isArray(names)) return <Fragment key={place}>{children}</Fragment>
  return (
    <span key={place} className={names.join(' ')}>
      {children}
    </span>
  )
}
