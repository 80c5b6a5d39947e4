// Forms: native fields, whose `name` is the API's name of the field. What the API refuses is shown at the field that
// its `param` names, or else above the form.
//
//   <Form onSubmit={async (values) => { await ask(() => api.POST('/…', { body: … values.read('name') … })) }}>
//     <TextField name="name" label="Name" hint="For your own eyes." required />
//     <SubmitButton>Create</SubmitButton>
//   </Form>

import {
  createContext,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type SyntheticEvent,
  type TextareaHTMLAttributes,
  useContext,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react'
import { ApiProblem, asProblem } from '../problem.ts'
import { Button, type ButtonKind } from './button.tsx'
import { ProblemNotice } from './notice.tsx'

type FormState = {
  problem: ApiProblem | undefined
  /** A field of the form shows it. */
  is_at_field: boolean
  busy: boolean
}

const CALM: FormState = { problem: undefined, is_at_field: false, busy: false }
const FormContext = createContext(CALM)

/** What was filled in, by name, without blanks around it. */
export type FormValues = {
  read(name: string): string
  readAll(name: string): string[]
  /** With its blanks: for passwords. */
  readExact(name: string): string
}

/** For what the form itself finds wrong, before anything is sent. */
export function wrongField(param: string, message: string): ApiProblem {
  return new ApiProblem({ status: 400, code: 'bad_request', param, message })
}

export function Form(props: {
  onSubmit: (values: FormValues) => Promise<void>
  children: ReactNode
}) {
  const [state, setState] = useState(CALM)
  const form = useRef<HTMLFormElement>(null)
  const submit = async (event: SyntheticEvent<HTMLFormElement>) => {
    event.preventDefault()
    const { currentTarget } = event
    if (state.busy) return
    setState({ ...CALM, busy: true })
    try {
      await props.onSubmit(readValues(new FormData(currentTarget)))
      setState(CALM)
    } catch (error) {
      const problem = asProblem(error)
      const { param } = problem
      const is_at_field = param !== undefined && currentTarget.elements.namedItem(param) !== null
      setState({ problem, is_at_field, busy: false })
    }
  }
  const { problem } = state
  useEffect(() => {
    if (!problem) return
    const at_field = form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')
    const shown = at_field ?? form.current?.querySelector<HTMLElement>('.problem')
    shown?.focus()
  }, [problem])
  return (
    <FormContext value={state}>
      <form ref={form} className="form" onSubmit={(event) => void submit(event)}>
        {problem && !state.is_at_field && <ProblemNotice problem={problem} />}
        {props.children}
      </form>
    </FormContext>
  )
}

export function SubmitButton({
  kind = 'primary',
  children,
}: {
  kind?: ButtonKind
  children: ReactNode
}) {
  const { busy } = useContext(FormContext)
  return (
    <Button type="submit" kind={kind} busy={busy}>
      {children}
    </Button>
  )
}

type FieldProps = { label: string; name: string; hint?: ReactNode; prefix?: string }

export function TextField({
  label,
  hint,
  prefix,
  ...input
}: FieldProps & Omit<InputHTMLAttributes<HTMLInputElement>, 'prefix' | 'name'>) {
  return (
    <Field label={label} hint={hint} name={input.name}>
      {(tied) => (
        <span className="input-row">
          {prefix !== undefined && <span className="input-prefix">{prefix}</span>}
          <input type="text" autoComplete="off" {...input} {...tied} />
        </span>
      )}
    </Field>
  )
}

export function TextArea({
  label,
  hint,
  ...area
}: FieldProps & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'prefix' | 'name'>) {
  return (
    <Field label={label} hint={hint} name={area.name}>
      {(tied) => <textarea rows={3} {...area} {...tied} />}
    </Field>
  )
}

export function SelectField({
  label,
  hint,
  choices,
  ...select
}: FieldProps & {
  choices: readonly (readonly [value: string, label: string])[]
} & Omit<SelectHTMLAttributes<HTMLSelectElement>, 'prefix' | 'name'>) {
  return (
    <Field label={label} hint={hint} name={select.name}>
      {(tied) => (
        <select {...select} {...tied}>
          {choices.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

/** One of a few, all in view, each with a line that says what it means. */
export function ChoiceField(props: {
  label: string
  name: string
  choices: readonly { value: string; label: string; hint?: string }[]
  defaultValue: string
  onChange?: (value: string) => void
}) {
  return (
    <fieldset className="choices">
      <legend>{props.label}</legend>
      {props.choices.map(({ value, label, hint }) => (
        <label key={value} className="choice">
          <input
            type="radio"
            name={props.name}
            value={value}
            defaultChecked={value === props.defaultValue}
            onChange={() => props.onChange?.(value)}
          />
          <span>
            {label}
            {hint !== undefined && <span className="field-hint">{hint}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  )
}

/** What the API refused of this field, for a control that is not one element. */
export function useFieldFault(name: string): ApiProblem | undefined {
  const { problem } = useContext(FormContext)
  return problem?.param === name ? problem : undefined
}

type Tied = { id: string; 'aria-describedby': string | undefined; 'aria-invalid': true | undefined }

/** Label, hint and error of one control, tied to it for those who hear the page. */
export function Field(props: {
  label: string
  name: string
  hint?: ReactNode
  children: (tied: Tied) => ReactNode
}) {
  const id = useId()
  const fault = useFieldFault(props.name)
  const described = [props.hint !== undefined && `${id}-hint`, fault && `${id}-fault`].filter(
    Boolean,
  )
  return (
    <div className="field">
      <label htmlFor={id}>{props.label}</label>
      {props.children({
        id,
        'aria-describedby': described.length > 0 ? described.join(' ') : undefined,
        'aria-invalid': fault ? true : undefined,
      })}
      {props.hint !== undefined && (
        <p className="field-hint" id={`${id}-hint`}>
          {props.hint}
        </p>
      )}
      {fault && (
        <p className="field-error" id={`${id}-fault`}>
          {fault.message} {fault.hint}
        </p>
      )}
    </div>
  )
}

function readValues(data: FormData): FormValues {
  const asTyped = (value: FormDataEntryValue | null) => (typeof value === 'string' ? value : '')
  return {
    read: (name) => asTyped(data.get(name)).trim(),
    readAll: (name) => data.getAll(name).map((value) => asTyped(value).trim()),
    readExact: (name) => asTyped(data.get(name)),
  }
}
