// What happens is told to those who asked, once, and to nobody else.

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { EVENT_TYPES, isEventType } from '../../src/events/event-types.ts'
import { sql } from '../support/database.ts'
import { startEventReceiver } from '../support/event-receiver.ts'
import { connect, connectHosted, createOAuthApp } from '../support/oauth.ts'
import { createWebhookService } from '../support/webhooks.ts'

const service = await createWebhookService()

describe('a call that the developer pays', () => {
  it('is told as usage.completed and balance.updated, with the numbers of the reply', async () => {
    const { developer, receiver, webhook } = await service.owner()
    const { key } = await service.createKey(developer.bearer)
    const { usage, svc } = await service.call(key)
    await service.work()
    assert.equal(receiver.received.length, 2)
    const [completed] = receiver.of('usage.completed')
    assert.deepEqual(completed?.event.data, {
      user_id: developer.user_id,
      model: 'gpt-4o-mini',
      prompt_tokens: usage.prompt_tokens,
      completion_tokens: usage.completion_tokens,
      total_tokens: usage.total_tokens,
      credits_used: svc.credits_used,
    })
    const [updated] = receiver.of('balance.updated')
    assert.deepEqual(updated?.event.data, {
      user_id: developer.user_id,
      new_balance: svc.balance_after,
      amount_spent: svc.credits_used,
      model: 'gpt-4o-mini',
      endpoint: '/v1/chat/completions',
    })
    for (const { headers, body, event } of receiver.received) {
      assert.equal(headers['user-agent'], 'Svc-Webhooks/1.0')
      assert.equal(headers['content-type'], 'application/json')
      assert.equal(headers['x-svc-event'], event.type)
      const expected = createHmac('sha256', webhook.secret).update(body).digest('hex')
      assert.equal(headers['x-svc-signature'], expected)
      new Webhook(webhook.secret).verify(body, headers as Record<string, string>)
    }
  })

  it('is told to every app of the developer when the key is bound to none, else to its app only', async () => {
    const { developer, app, receiver } = await service.owner({ events: ['usage.completed'] })
    const other_app = await createOAuthApp(service, developer)
    const other = await startEventReceiver()
    const { client_id } = other_app
    const events = ['usage.completed']
    await service.subscribe(developer, { client_id, url: other.url, events })
    const free = await service.createKey(developer.bearer)
    const bound = await service.createKey(developer.bearer, { client_id: app.client_id })
    await service.call(free.key)
    await service.work()
    assert.deepEqual([receiver.received.length, other.received.length], [1, 1])
    await service.call(bound.key)
    await service.work()
    assert.deepEqual([receiver.received.length, other.received.length], [2, 1])
    assert.equal(receiver.received[0]?.event.id, other.received[0]?.event.id)
  })

  it('is not told to another developer', async () => {
    const { receiver } = await service.owner()
    const stranger = await service.register()
    const { key } = await service.createKey(stranger.bearer)
    await service.call(key)
    await service.work()
    assert.equal(receiver.received.length, 0)
  })
})

describe('a call that the user pays', () => {
  it('is told to the app it came through, about the user', async () => {
    const { developer, app, receiver } = await service.owner({ events: ['balance.updated'] })
    const other = await startEventReceiver()
    const { client_id } = await createOAuthApp(service, developer)
    await service.subscribe(developer, { client_id, url: other.url })
    const user = await service.register()
    const external_user_id = 'alice'
    await connectHosted(service, { app, user, external_user_id })
    const { key } = await service.createKey(developer.bearer, { billing_mode: 'user' })
    const { svc } = await service.call(key, { 'x-svc-user': external_user_id })
    await service.work()
    assert.deepEqual(
      receiver.received.map(({ event }) => event.data['user_id']),
      [user.user_id],
    )
    assert.equal(receiver.received[0]?.event.data['new_balance'], svc.balance_after)
    assert.equal(other.received.length, 0)
  })
})

describe('a connection', () => {
  it('is told when it begins and when it ends, with the address of the user', async () => {
    const { app, receiver } = await service.owner()
    const user = await service.register()
    await connect(service, { app, user })
    await service.work()
    await service.request({
      method: 'DELETE',
      url: `/account/connections/${app.client_id}`,
      headers: user.bearer,
    })
    await service.work()
    assert.deepEqual(
      receiver.received.map(({ event }) => [
        event.type,
        event.data['user_id'],
        event.data['email'],
      ]),
      [
        ['user.connected', user.user_id, user.email],
        ['user.disconnected', user.user_id, user.email],
      ],
    )
    assert.ok(receiver.received[0]?.event.data['connected_at'])
    assert.ok(receiver.received[1]?.event.data['disconnected_at'])
  })

  it('is told to a webhook that was there before, also by a machine whose clock is behind', async () => {
    const { app, receiver, webhook, ask } = await service.owner()
    await ask('PATCH', `/v1/webhooks/${webhook.id}`, { active: false })
    await ask('PATCH', `/v1/webhooks/${webhook.id}`, { active: true })
    service.clock.advance(-2_000)
    await connect(service, { app, user: await service.register() })
    service.clock.advance(2_000)
    await service.work()
    assert.deepEqual(
      receiver.received.map(({ event }) => event.type),
      ['user.connected'],
    )
  })
})

describe('balance.low', () => {
  it('is told once when a call takes the balance below the threshold, and not while it stays there', async () => {
    const developer = await service.register()
    const { key } = await service.createKey(developer.bearer)
    const { svc } = await service.call(key)
    const app = await createOAuthApp(service, developer)
    const receiver = await startEventReceiver()
    await service.subscribe(developer, {
      client_id: app.client_id,
      url: receiver.url,
      events: ['balance.low'],
      low_balance_threshold: svc.balance_after,
    })
    const next = await service.call(key)
    await service.call(key)
    await service.work()
    assert.deepEqual(
      receiver.received.map(({ event }) => event.data),
      [
        {
          user_id: developer.user_id,
          current_balance: next.svc.balance_after,
          threshold: svc.balance_after,
        },
      ],
    )
  })

  it('is told when a transfer takes the balance below the threshold', async () => {
    const { developer, app, receiver } = await service.owner({
      events: ['balance.low'],
      low_balance_threshold: 600_000,
    })
    const user = await service.register()
    await connectHosted(service, { app, user, external_user_id: 'bob' })
    const { key } = await service.createKey(developer.bearer)
    const reply = await service.post(
      '/v1/funding/credit',
      { amount: 500_000, external_user_id: 'bob' },
      { authorization: `Bearer ${key}`, 'idempotency-key': 'one' },
    )
    assert.equal(reply.statusCode, 200, reply.body)
    await service.work()
    assert.deepEqual(
      receiver.received.map(({ event }) => event.data),
      [{ user_id: developer.user_id, current_balance: 500_000, threshold: 600_000 }],
    )
  })

  it('is not told without a threshold', async () => {
    const { developer, receiver } = await service.owner({ events: ['balance.low'] })
    const { key } = await service.createKey(developer.bearer)
    await service.call(key)
    await service.work()
    assert.equal(receiver.received.length, 0)
  })
})

describe('what happened before a webhook was there, or while it was off', () => {
  it('is not told', async () => {
    const developer = await service.register()
    const { key } = await service.createKey(developer.bearer)
    await service.call(key)
    const app = await createOAuthApp(service, developer)
    const receiver = await startEventReceiver()
    const { client_id } = app
    const webhook = await service.subscribe(developer, { client_id, url: receiver.url })
    const { ask } = service.manage(developer)
    await ask('PATCH', `/v1/webhooks/${webhook.id}`, { active: false })
    await service.call(key)
    await service.work()
    await ask('PATCH', `/v1/webhooks/${webhook.id}`, { active: true })
    await service.work()
    assert.equal(receiver.received.length, 0)
    await service.call(key)
    await service.work()
    assert.equal(receiver.received.length, 2)
  })
})

describe('an event that is read twice', () => {
  it('is queued once: its id follows from what it is about', async () => {
    const { developer, receiver, webhook, list } = await service.owner()
    const { key } = await service.createKey(developer.bearer)
    await service.call(key)
    await service.work()
    // As after a restore of a dump on another server, where the numbers of transactions begin anew.
    await sql(
      service.database_url,
      `update event_cursor set done = '4000000000:4000000000:', done_at = now() - interval '1 hour'`,
    )
    await service.work()
    await service.call(key)
    await service.work()
    await service.work()
    const { deliveries } = await list(webhook.id)
    assert.equal(deliveries.length, 4)
    assert.equal(new Set(receiver.received.map(({ event }) => event.id)).size, 4)
    assert.equal(receiver.received.length, 4)
  })
})

describe('every example of the catalogue', () => {
  it('has the fields that its event is sent with', () => {
    for (const [type, { data, example }] of Object.entries(EVENT_TYPES)) {
      assert.ok(isEventType(type))
      assert.deepEqual(Object.keys(example), Object.keys(data.properties), type)
    }
  })
})
