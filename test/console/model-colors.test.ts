// Colours of charts: a family keeps its hue, and no two models of one chart look the same.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { colorOfModel, colorsOfModels } from '../../console/src/model-colors.ts'

const SISTERS = ['anthropic/claude-opus-4', 'anthropic/claude-sonnet-4', 'gpt-4o', 'gpt-5', 'gpt-4']

test('models of one family have shades of one hue, each its own', () => {
  const colors = colorsOfModels(SISTERS)
  assert.equal(new Set(colors.values()).size, SISTERS.length)
  for (const [model, color] of colors) assert.ok(color.includes(colorOfModel(model)), model)
})
