'use strict'

const { it } = require('node:test')
const assert = require('node:assert')

const capture = require('./capture.js')
const refund = require('./refund.js')

it('is captured when all of it has come', async () => {
  const entry = { amount: 1000, captured: 0, refunded: 0, status: 'open' }

  assert.deepStrictEqual(await capture.transition({ amount: 400 }, entry), { open: 600 })
  assert.strictEqual(entry.status, 'open')

  await capture.transition({ amount: 600 }, entry)
  assert.strictEqual(entry.status, 'captured')
})

it('takes no more than is due, and gives back no more than it took', async () => {
  const entry = { amount: 1000, captured: 500, refunded: 0, status: 'open' }

  assert.strictEqual((await capture.transition({ amount: 501 }, entry)).message, 'TOO_MUCH')
  assert.strictEqual((await refund.transition({ amount: 501 }, entry)).message, 'TOO_MUCH')
})
