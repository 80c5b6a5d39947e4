// Markdown as React elements, from marked's tokens and never from a string of HTML. What a model writes is not trusted:
// HTML is shown as text, pictures from elsewhere are not loaded, and links lead to http, https and mail only.

import { lexer, type MarkedToken, type Token, type Tokens } from 'marked'
import { memo, type ReactNode } from 'react'
import { ScrollArea } from '../ui/table.tsx'
import { CodeBlock } from './code-block.tsx'

/** Blocks that did not change are not made again: in a stream only the last one is. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      {lexer(text).map((token, place) => (
        // Blocks are only ever added at the end.
        <Block key={place} token={token} />
      ))}
    </div>
  )
})

const Block = memo(
  function Block({ token }: { token: Token }) {
    return renderBlock(token)
  },
  (before, after) => before.token.raw === after.token.raw && before.token.type === after.token.type,
)

/** No extension is installed, so that there are no tokens but marked's own. */
function own(token: Token): MarkedToken {
  return token as MarkedToken
}

function renderBlock(given: Token): ReactNode {
  const token = own(given)
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'heading':
      // A heading of an answer is none of the page.
      return (
        <p className="markdown-heading" data-depth={token.depth}>
          {inline(token.tokens)}
        </p>
      )
    case 'paragraph':
      return <p>{inline(token.tokens)}</p>
    case 'code':
      return <CodeBlock code={token.text} language={token.lang ?? ''} />
    case 'blockquote':
      return <blockquote>{blocks(token.tokens)}</blockquote>
    case 'list':
      return <ListBlock list={token} />
    case 'table':
      return <TableBlock table={token} />
    case 'hr':
      return <hr />
    case 'text':
    case 'br':
    case 'checkbox':
    case 'codespan':
    case 'del':
    case 'em':
    case 'escape':
    case 'image':
    case 'link':
    case 'strong':
      return <Inline token={token} />
    case 'html':
    case 'list_item':
      return <p>{token.raw}</p>
  }
}

function blocks(tokens: readonly Token[] | undefined): ReactNode {
  return tokens?.map((token, place) => <Block key={place} token={token} />)
}

function ListBlock({ list }: { list: Tokens.List }) {
  const items = list.items.map((item, place) => <li key={place}>{blocks(item.tokens)}</li>)
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>
}

function TableBlock({ table }: { table: Tokens.Table }) {
  const names = table.header.map(({ text }) => text).join(', ')
  return (
    <ScrollArea label={`Table: ${names}`}>
      <table className="table">
        <thead>
          <tr>
            {table.header.map((cell, place) => (
              <th key={place} scope="col" className={cell.align === 'right' ? 'end' : ''}>
                {inline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, place) => (
            <tr key={place}>
              {row.map((cell, column) => (
                <td key={column} className={cell.align === 'right' ? 'end' : ''}>
                  {inline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  )
}

function inline(tokens: readonly Token[] | undefined): ReactNode {
  return tokens?.map((token, place) => <Inline key={place} token={token} />)
}

function Inline({ token: given }: { token: Token }): ReactNode {
  const token = own(given)
  switch (token.type) {
    case 'strong':
      return <strong>{inline(token.tokens)}</strong>
    case 'em':
      return <em>{inline(token.tokens)}</em>
    case 'del':
      return <del>{inline(token.tokens)}</del>
    case 'codespan':
      return <code>{token.text}</code>
    case 'br':
      return <br />
    case 'link':
      return <SafeLink href={token.href}>{inline(token.tokens)}</SafeLink>
    case 'image':
      return <SafeLink href={token.href}>{`picture: ${token.text}`}</SafeLink>
    case 'escape':
      return token.text
    case 'text':
      return token.tokens ? inline(token.tokens) : token.text
    case 'checkbox':
      return token.checked ? '☑ ' : '☐ '
    case 'blockquote':
    case 'code':
    case 'def':
    case 'heading':
    case 'hr':
    case 'html':
    case 'list':
    case 'list_item':
    case 'paragraph':
    case 'space':
    case 'table':
      return token.raw
  }
}

function SafeLink({ href, children }: { href: string; children: ReactNode }) {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return children
  return (
    <a href={href} target="_blank" rel="noreferrer">
      {children}
    </a>
  )
}
