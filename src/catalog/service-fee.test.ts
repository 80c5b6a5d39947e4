import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadCatalog } from './catalog.ts'
import { priceUsage } from './pricing.ts'

const USAGE = {
  input_tokens: 1_000_000,
  cache_read_tokens: 0,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  output_tokens: 1_000_000,
}

function priceAt(fee_bps: number, name = 'gpt-4o'): bigint {
  const model = loadCatalog({ fee_bps }).find(name)
  assert.ok(model?.kind === 'chat')
  return priceUsage(model, USAGE)
}

test('without a fee a call costs what the provider asks: $2.50 in and $10 out', () => {
  assert.equal(priceAt(0), 12_500_000n)
})

test('a fee of 20 % makes it $15.00, of 0.01 % a hundredth of a percent more', () => {
  assert.equal(priceAt(2_000), 15_000_000n)
  assert.equal(priceAt(1), 12_501_250n)
})

test('the dearer prices of long prompts are raised too, and audio', () => {
  const [plain, raised] = [loadCatalog({}), loadCatalog({ fee_bps: 1_000 })]
  const long = (catalog: typeof plain) => {
    const model = catalog.find('google/gemini-2.5-pro')
    return model?.kind === 'chat' ? model.long_prompt?.prices.output : undefined
  }
  assert.equal(long(plain), 15_000_000n)
  assert.equal(long(raised), 16_500_000n)
  const sound = (catalog: typeof plain) => {
    const model = catalog.find('google/gemini-2.5-flash')
    return model?.kind === 'chat' ? model.prices.audio_input : undefined
  }
  assert.equal(sound(plain), 1_000_000n)
  assert.equal(sound(raised), 1_100_000n)
  const speech = (catalog: typeof plain) => {
    const model = catalog.find('elevenlabs/eleven_flash_v2_5')
    return model?.kind === 'speech' ? model.price : undefined
  }
  assert.equal(speech(plain), 50_000_000n)
  assert.equal(speech(raised), 55_000_000n)
})
