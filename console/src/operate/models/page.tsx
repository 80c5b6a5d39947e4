// /operate/models: what the service sells. Read only: prices change by a reviewed file and a restart. ?model= opens one.

import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api, ask } from '../../api.ts'
import { CREDITS_PER_DOLLAR, formatCount, formatCredits } from '../../format.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, Money, Time } from '../../ui/figures.tsx'
import { SelectField, TextField } from '../../ui/form.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { SidePanel } from '../../ui/panel.tsx'
import { type Column, DataTable } from '../../ui/table.tsx'
import { text, useUrlState } from '../../url-state.ts'
import { fixedList, OPERATE, type RowOf } from '../operate.ts'
import { type Fact, Facts, FilterBar, Loaded, readField } from '../parts.tsx'

type Model = RowOf<'/operator/models'>

const VIEW = { model: text(), provider: text(), name: text() }

export default function ModelsPage() {
  const [view, setView] = useUrlState(VIEW)
  const models = useQuery({
    queryKey: [OPERATE, 'models'],
    queryFn: () => ask(() => api.GET('/operator/models')),
  })
  const columns = useMemo(() => columnsOf((model) => setView({ model })), [setView])
  const all = models.data?.data
  const opened = all?.find(({ name }) => name === view.model)
  const clear = () => setView({ provider: '', name: '' })
  const rows = useMemo(() => filterModels(all ?? [], view), [all, view])
  return (
    <>
      <PageHead
        title="Models and prices"
        lead={
          models.data && (
            <>
              Prices in dollars, with the service fee of {models.data.service_fee_percent} %. They
              change by CATALOG_FILE and a restart, not here. Traffic is of everybody since{' '}
              <Time at={models.data.traffic_from} />.
            </>
          )
        }
      />
      <Loaded query={models}>
        {({ data }) => (
          <>
            <Filters view={view} models={data} setView={setView} onClear={clear} />
            <DataTable
              label="Models"
              columns={columns}
              list={fixedList(rows)}
              rowKey={nameOf}
              empty={
                <EmptyState
                  title="No model fits these filters"
                  action={<Button onClick={clear}>Clear filters</Button>}
                >
                  <p>{formatCount(data.length)} models are in the catalog.</p>
                </EmptyState>
              }
            />
          </>
        )}
      </Loaded>
      {opened && (
        <SidePanel title={opened.name} onClose={() => setView({ model: '' }, { replace: true })}>
          <ModelDetails model={opened} />
        </SidePanel>
      )}
    </>
  )
}

type Filter = { provider: string; name: string }

function filterModels(models: readonly Model[], wanted: Filter): Model[] {
  return models
    .filter(({ provider }) => wanted.provider === '' || provider === wanted.provider)
    .filter(({ name, upstream_id }) =>
      `${name} ${upstream_id}`.toLowerCase().includes(wanted.name.toLowerCase()),
    )
}

function Filters(props: {
  view: Filter
  models: readonly Model[]
  setView: (change: Filter) => void
  onClear: () => void
}) {
  const { view, models, setView, onClear } = props
  const providers = [...new Set(models.map(({ provider }) => provider))]
  const is_filtered = view.provider !== '' || view.name !== ''
  return (
    <FilterBar
      key={`${view.provider} ${view.name}`}
      label="Models"
      action="Show"
      onApply={(values) =>
        setView({ provider: readField(values, 'provider'), name: readField(values, 'name') })
      }
      onClear={is_filtered ? onClear : undefined}
    >
      <TextField name="name" label="Name or upstream id" defaultValue={view.name} />
      <SelectField
        name="provider"
        label="Provider"
        defaultValue={view.provider}
        choices={[['', 'All'], ...providers.map((name) => [name, name] as const)]}
      />
    </FilterBar>
  )
}

function nameOf({ name }: Model): string {
  return name
}

function columnsOf(open: (name: string) => void): Column<Model>[] {
  return [
    {
      head: 'Model',
      cell: (model) => (
        <>
          <button type="button" className="op-link" onClick={() => open(model.name)}>
            {model.name}
          </button>
          <span className="soft cell-note">
            {model.provider} · {model.upstream_id}
          </span>
        </>
      ),
    },
    { head: 'State', wide_only: true, cell: (model) => <States model={model} /> },
    {
      head: 'Calls, 24 h',
      align: 'end',
      wide_only: true,
      cell: ({ day }) => formatCount(day.requests),
    },
    {
      head: 'Errors, 24 h',
      align: 'end',
      wide_only: true,
      cell: ({ day }) => formatCount(day.errors),
    },
    { head: 'Unit', wide_only: true, cell: ({ pricing }) => UNIT_WORDS[pricing.unit] },
    {
      head: 'Input',
      align: 'end',
      cell: ({ pricing }) => <Price unit={pricing.unit} credits={pricing.input} />,
    },
    {
      head: 'Cached input',
      align: 'end',
      wide_only: true,
      cell: ({ pricing }) => <Price unit={pricing.unit} credits={pricing.cached_input} />,
    },
    {
      head: 'Output',
      align: 'end',
      cell: ({ pricing }) => <Price unit={pricing.unit} credits={pricing.output} />,
    },
  ]
}

function States({ model }: { model: Model }) {
  const { state, retires_on, key_configured, warnings } = model
  return (
    <span className="row">
      {state === 'served' && <Badge tone="good">Served</Badge>}
      {state === 'retiring' && <Retiring on={retires_on ?? ''} />}
      {state === 'retired' && <Badge tone="danger">Retired {retires_on}</Badge>}
      {!key_configured && <Badge tone="danger">No key</Badge>}
      {warnings.length > 0 && <Badge tone="warn">Warning</Badge>}
    </span>
  )
}

/** A provider may serve a model beyond the day it has named. */
function Retiring({ on }: { on: string }) {
  const is_past = Date.parse(on) < Date.now()
  return (
    <Badge tone={is_past ? 'danger' : 'warn'}>
      {is_past ? 'Was to retire' : 'Retires'} {on}
    </Badge>
  )
}

type Unit = Model['pricing']['unit']

/** The API names each price for a million; nobody buys a million hours. */
const UNIT_WORDS: Record<Unit, string> = {
  token: 'million tokens',
  character: 'million characters',
  hour: 'hour',
  generation: 'generation',
}
const MILLION = 1_000_000

function Price({ credits, unit }: { credits: number | null; unit: Unit }) {
  if (credits === null) return <span className="soft">–</span>
  const count = unit === 'token' || unit === 'character' ? 1 : MILLION
  const dollars = credits / count / CREDITS_PER_DOLLAR
  const decimals = { minimumFractionDigits: 2, maximumFractionDigits: 6 }
  return (
    <span title={`${formatCredits(credits)} credits a million`}>
      ${dollars.toLocaleString('en-US', decimals)}
    </span>
  )
}

function ModelDetails({ model }: { model: Model }) {
  const { pricing, day } = model
  const prices: [string, number | null][] = [
    ['Input', pricing.input],
    ['Cached input', pricing.cached_input],
    ['Cache write, 5 minutes', pricing.cache_write_5m],
    ['Cache write, 1 hour', pricing.cache_write_1h],
    ['Audio input', pricing.audio_input],
    ['Output', pricing.output],
  ]
  const facts: Fact[] = [
    ['State', <States key="state" model={model} />],
    ['Provider', model.provider],
    ['Upstream id', <code key="id">{model.upstream_id}</code>],
    ['Kind', model.kind],
    ['Key', model.key_configured ? 'Configured' : 'Not configured: calls are refused'],
    ...(model.on_disconnect === null
      ? []
      : [['A client that leaves', DISCONNECT_WORDS[model.on_disconnect]] as const]),
    ['Calls, last 24 hours', formatCount(day.requests)],
    ['Errors, last 24 hours', formatCount(day.errors)],
    ['Charged, last 24 hours', <Money key="charged" credits={day.credits} />],
  ]
  return (
    <>
      {model.warnings.map((warning) => (
        <p key={warning} className="op-note">
          {warning}
        </p>
      ))}
      <Facts facts={facts} />
      <h3>Dollars per {UNIT_WORDS[pricing.unit]}</h3>
      <Facts
        facts={prices
          .filter(([, credits]) => credits !== null)
          .map(([label, credits]) => [
            label,
            <Price key={label} unit={pricing.unit} credits={credits} />,
          ])}
      />
    </>
  )
}

const DISCONNECT_WORDS = {
  cancel: 'ends the call at the provider',
  drain: 'does not end the call: it is read to its end and charged',
}
