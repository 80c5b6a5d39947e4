// Code to copy, in one or several languages.

import { CopyButton } from './copy.tsx'
import { ScrollArea } from './table.tsx'
import { PageTabs } from './tabs.tsx'

export type Sample = { language: string; code: string }

type SnippetProps = {
  label: string
  samples: readonly Sample[]
  /** What the clipboard gets, if it is not what is shown: a secret is copied without being on the screen. */
  copied?: readonly Sample[]
}

export function CodeSnippet({ label, samples, copied = samples }: SnippetProps) {
  const [only] = samples
  if (samples.length === 1 && only) {
    return <Code label={label} code={only.code} copied={copied[0]?.code ?? only.code} />
  }
  const tabs = samples.map(({ language, code }, index) => ({
    id: language.toLowerCase(),
    label: language,
    content: (
      <Code label={`${label}, ${language}`} code={code} copied={copied[index]?.code ?? code} />
    ),
  }))
  return <PageTabs label={label} tabs={tabs} />
}

function Code({ label, code, copied }: { label: string; code: string; copied: string }) {
  return (
    <div className="snippet">
      <ScrollArea label={label}>
        <pre>
          <code>{code}</code>
        </pre>
      </ScrollArea>
      <CopyButton text={copied} />
    </div>
  )
}
