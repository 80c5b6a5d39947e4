// A tool call of the output while it is written. A tool that takes free text is given the one member of its arguments.

import { ObjectEnd } from '../object-end.ts'
import { FreeText } from './free-text.ts'
import type { ItemStatus, OpenItem } from './open-item.ts'
import type { ItemPlace } from './records.ts'
import type { ClientTool, OutputItem } from './terms.ts'

export class CallItem implements OpenItem {
  readonly #place: ItemPlace
  readonly #call_id: string
  readonly #tool: ClientTool
  readonly #end = new ObjectEnd()
  /** JSON text, as the model wrote it. */
  #arguments = ''
  readonly #free_text = new FreeText()
  #status: ItemStatus = 'in_progress'

  constructor(place: ItemPlace, { call_id, tool }: { call_id: string; tool: ClientTool }) {
    this.#place = place
    this.#call_id = call_id
    this.#tool = tool
  }

  open(): string {
    return this.#place.writeItem('added', this)
  }

  /** Closes the call where the arguments are whole: only white space could follow. */
  add(fragment: string): string {
    if (fragment === '' || this.#status !== 'in_progress') return ''
    this.#arguments += fragment
    this.#end.read(fragment)
    const delta = this.#writeDelta(
      this.#tool.kind === 'custom' ? this.#free_text.read(fragment) : fragment,
    )
    return this.#end.reached ? delta + this.close('completed') : delta
  }

  close(status: ItemStatus): string {
    if (this.#status !== 'in_progress') return ''
    const done = this.#tool.kind === 'custom' ? this.#endText(status) : this.#endArguments(status)
    this.#status = status
    return done + this.#place.writeItem('done', this)
  }

  breakOff(): void {
    if (this.#status === 'in_progress') this.#status = 'incomplete'
  }

  present(): OutputItem {
    const { kind, name, namespace } = this.#tool
    const status = this.#status
    const called = {
      call_id: this.#call_id,
      name,
      ...(namespace !== undefined && { namespace }),
    }
    return kind === 'custom'
      ? {
          id: this.#place.id,
          type: 'custom_tool_call',
          status,
          input: this.#free_text.text,
          ...called,
        }
      : { id: this.#place.id, type: 'function_call', status, arguments: this.#arguments, ...called }
  }

  /** A call without input has arguments all the same, since clients parse them; a call that was cut off has none. */
  #endArguments(status: ItemStatus): string {
    const is_empty = this.#arguments === '' && status === 'completed'
    if (is_empty) this.#arguments = '{}'
    const delta = is_empty ? this.#writeDelta('{}') : ''
    const type = 'function_call_arguments.done'
    return delta + this.#place.write(type, () => `"arguments":${JSON.stringify(this.#arguments)}`)
  }

  #endText(status: ItemStatus): string {
    const delta = status === 'completed' ? this.#writeDelta(this.#free_text.end()) : ''
    const type = 'custom_tool_call_input.done'
    return delta + this.#place.write(type, () => `"input":${JSON.stringify(this.#free_text.text)}`)
  }

  #writeDelta(text: string): string {
    if (text === '') return ''
    const type =
      this.#tool.kind === 'custom'
        ? 'custom_tool_call_input.delta'
        : 'function_call_arguments.delta'
    return this.#place.write(type, () => `"delta":${JSON.stringify(text)}`)
  }
}
