import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { Stripe } from 'stripe'
import { type Platform, refusal, seedAccount, startPlatform } from './test-platform.ts'

let platform: Platform
let stripe: Stripe

before(async () => {
  platform = await startPlatform()
  stripe = platform.stripe
})
beforeEach(async () => {
  await platform.control('POST', '/reset', {})
})
after(async () => {
  await platform.close()
})

const EXPRESS: Stripe.AccountCreateParams = {
  controller: {
    stripe_dashboard: { type: 'express' },
    fees: { payer: 'application' },
    losses: { payments: 'application' },
    requirement_collection: 'stripe',
  },
  capabilities: { transfers: { requested: true } },
  country: 'DE',
  email: 'ada@example.com',
  metadata: { developer_id: 'dev_1' },
}
const REFRESH = 'http://127.0.0.1:1/refresh'
const RETURN = 'http://127.0.0.1:1/return'

/** Like a browser that shows no page: answers the status and where it leads. */
async function visit(url: string, form?: Record<string, string>) {
  const response = await fetch(url, {
    redirect: 'manual',
    ...(form && { method: 'POST', body: new URLSearchParams(form) }),
  })
  const location = response.headers.get('location')
  const text = await response.text()
  return { status: response.status, location, text, next: new URL(location ?? '/', url).href }
}

async function onboardingUrl(account: string): Promise<string> {
  const link = await stripe.accountLinks.create({
    account,
    type: 'account_onboarding',
    refresh_url: REFRESH,
    return_url: RETURN,
  })
  assert.equal(link.expires_at - link.created, 300)
  return link.url
}

test('a new account can do nothing yet, and says what is due', async () => {
  const account = await stripe.accounts.create(EXPRESS)
  assert.match(account.id, /^acct_\w{16}$/)
  assert.equal(account.charges_enabled, false)
  assert.equal(account.payouts_enabled, false)
  assert.equal(account.details_submitted, false)
  assert.equal(account.country, 'DE')
  assert.equal(account.default_currency, 'eur')
  assert.deepEqual(account.capabilities, { transfers: 'inactive' })
  assert.equal(account.requirements?.disabled_reason, 'requirements.past_due')
  assert.ok((account.requirements?.currently_due ?? []).includes('external_account'))
  assert.equal(account.controller?.stripe_dashboard?.type, 'express')
  assert.deepEqual((await stripe.accounts.retrieve(account.id)).metadata, { developer_id: 'dev_1' })
  const updated = await stripe.accounts.update(account.id, {
    metadata: { developer_id: '', x: '1' },
  })
  assert.deepEqual(updated.metadata, { x: '1' })
  const old_style = await stripe.accounts.create({ type: 'express' })
  assert.equal(old_style.type, 'express')
  assert.equal((await stripe.accounts.list({ limit: 1 })).data[0]?.id, old_style.id)
})

test('an account that is not the platform’s is out of reach', async () => {
  const id = await seedAccount(platform)
  await platform.control('POST', `/accounts/${id}/deauthorize`, {})
  for (const account of ['acct_nobody', id]) {
    const error = await refusal(stripe.accounts.retrieve(account))
    assert.ok(error instanceof Stripe.errors.StripePermissionError)
    assert.equal(error.code, 'account_invalid')
  }
  const payment = { amount: 1, currency: 'usd', destination: id }
  assert.equal((await refusal(stripe.transfers.create(payment))).code, 'resource_missing')
})

test('an account without money can be deleted', async () => {
  const id = await seedAccount(platform)
  const { id: transfer } = await stripe.transfers.create({
    amount: 1,
    currency: 'usd',
    destination: id,
  })
  assert.equal((await refusal(stripe.accounts.del(id))).statusCode, 400)
  await stripe.transfers.createReversal(transfer)
  assert.equal((await stripe.accounts.del(id)).deleted, true)
  assert.equal((await refusal(stripe.accounts.retrieve(id))).statusCode, 403)
})

const ENDINGS = [
  { form: { outcome: 'complete' }, submitted: true, enabled: true, reason: null },
  { form: { action: 'leave' }, submitted: false, enabled: false, reason: 'requirements.past_due' },
  { form: { outcome: 'rejected' }, submitted: true, enabled: false, reason: 'rejected.fraud' },
  {
    form: { outcome: 'pending' },
    submitted: true,
    enabled: false,
    reason: 'requirements.pending_verification',
  },
  {
    form: { outcome: 'needs_document' },
    submitted: true,
    enabled: false,
    reason: 'requirements.past_due',
  },
]

for (const { form, submitted, enabled, reason } of ENDINGS) {
  test(`onboarding that ends with ${Object.values(form).join()} leads back and shows in the account`, async () => {
    const { id } = await stripe.accounts.create(EXPRESS)
    const opened = await visit(await onboardingUrl(id))
    assert.equal(opened.status, 303)
    const shown = await visit(opened.next)
    assert.match(shown.text, /<h1>Set up payouts<\/h1>/)
    const done = await visit(opened.next, { email: 'ada@example.com', ...form })
    assert.equal(done.location, RETURN)
    const account = await stripe.accounts.retrieve(id)
    assert.equal(account.details_submitted, submitted)
    assert.equal(account.payouts_enabled, enabled)
    assert.equal(account.charges_enabled, enabled)
    assert.equal(account.capabilities?.transfers === 'active', enabled)
    assert.equal(account.requirements?.disabled_reason, reason)
    const events = await stripe.events.list({ type: 'account.updated' })
    assert.equal(events.data[0]?.account, id)
  })
}

test('an onboarding link opens once: the second time it leads to the refresh address', async () => {
  const { id } = await stripe.accounts.create(EXPRESS)
  const url = await onboardingUrl(id)
  const opened = await visit(url)
  assert.equal((await visit(url)).location, REFRESH)
  assert.equal((await visit(opened.next)).status, 200, 'the open page can be reloaded')
})

test('an onboarding link expires after five minutes', async () => {
  const { id } = await stripe.accounts.create(EXPRESS)
  const [early, late] = [await onboardingUrl(id), await onboardingUrl(id)]
  await platform.control('POST', '/clock', { advance_s: 290 })
  assert.notEqual((await visit(early)).location, REFRESH)
  await platform.control('POST', '/clock', { advance_s: 20 })
  assert.equal((await visit(late)).location, REFRESH)
})

test('an onboarding link needs its addresses and an account', async () => {
  const { id } = await stripe.accounts.create(EXPRESS)
  const params = {
    account: id,
    type: 'account_onboarding',
    refresh_url: REFRESH,
    return_url: RETURN,
  }
  const { return_url: _, ...without } = params
  assert.equal((await refusal(stripe.accountLinks.create(without))).code, 'parameter_missing')
  const relative = await refusal(stripe.accountLinks.create({ ...params, return_url: '/back' }))
  assert.equal(relative.code, 'url_invalid')
  const nobody = await refusal(stripe.accountLinks.create({ ...params, account: 'acct_nobody' }))
  assert.equal(nobody.statusCode, 403)
})

test('a login link shows the dashboard once, and only to whom has been onboarded', async () => {
  const { id } = await stripe.accounts.create(EXPRESS)
  assert.equal((await refusal(stripe.accounts.createLoginLink(id))).statusCode, 400)
  await platform.control('POST', `/accounts/${id}`, { outcome: 'complete' })
  await stripe.transfers.create({
    amount: 4_321,
    currency: 'usd',
    destination: id,
    description: '<b>Pay & co</b>',
  })
  const { url } = await stripe.accounts.createLoginLink(id)
  const opened = await visit(url)
  const shown = await visit(opened.next)
  assert.match(shown.text, /\$43\.21/)
  assert.match(shown.text, /&lt;b&gt;Pay &amp; co&lt;\/b&gt;/)
  assert.equal((await visit(url)).status, 404)
})

test('the platform rejects an account for a reason', async () => {
  const id = await seedAccount(platform)
  const account = await stripe.accounts.reject(id, { reason: 'terms_of_service' })
  assert.equal(account.requirements?.disabled_reason, 'rejected.terms_of_service')
  assert.equal(account.payouts_enabled, false)
})
