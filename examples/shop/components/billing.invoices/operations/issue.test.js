'use strict'

const { it } = require('node:test')
const assert = require('node:assert')

const issue = require('./issue.js')
const split = require('./split.js')

it('issues a number and adds up', async () => {
  const entry = {}
  const context = { now: () => Date.UTC(2026, 0, 1) }
  const reply = await issue.transition({ order: 'a1b2c3d4e5f6', gross: 11900 }, entry, context)

  assert.strictEqual(reply.number, '2026-C3D4E5F6')
  assert.strictEqual(entry.net, 10000)
  assert.strictEqual(entry.net + entry.vat, entry.gross)
})

it('knows where it may sell', async () => {
  assert.strictEqual((await split.computation({ gross: 100, country: 'XX' })).message, 'UNKNOWN_COUNTRY')
})
