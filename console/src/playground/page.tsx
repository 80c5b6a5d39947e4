// /playground: any model that can be called here, paid from the balance of who is signed in (?model=).

import { ProblemNotice, Skeleton } from '../ui/notice.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { text, useUrlState } from '../url-state.ts'
import './playground.css'
import { Chat } from './chat.tsx'
import { FIRST_MODEL, kindOf, useModels } from './models.ts'
import { ModelField } from './settings-form.tsx'
import { Sound } from './sound.tsx'

const VIEW = { model: text() }

export default function PlaygroundPage() {
  const models = useModels()
  return (
    <>
      <PageHead
        title="Playground"
        lead="Try a model and see what it costs, to the credit. No key is needed."
      />
      {models.data && <Desk models={models.data} />}
      {!models.data &&
        (models.error ? (
          <ProblemNotice problem={models.error} onRetry={() => void models.refetch()} />
        ) : (
          <Skeleton lines={6} />
        ))}
    </>
  )
}

function Desk({ models }: { models: NonNullable<ReturnType<typeof useModels>['data']> }) {
  const [view, setView] = useUrlState(VIEW)
  const find = (wanted: string) => models.find(({ id }) => id === wanted)
  const model = find(view.model) ?? find(FIRST_MODEL) ?? models[0]
  if (!model) return <p>No provider is set up here, so that there is no model to try.</p>
  const modelField = (
    <>
      <ModelField
        models={models}
        value={model.id}
        onChange={(id) => setView({ model: id }, { replace: true })}
      />
      {view.model !== '' && !find(view.model) && (
        <p className="field-error" role="alert">
          There is no model {view.model} here. {model.id} is chosen instead.
        </p>
      )}
    </>
  )
  if (kindOf(model) === 'chat') return <Chat {...{ model, models, modelField }} />
  return <Sound key={model.id} {...{ model, modelField }} />
}
