'use strict'

const { it } = require('node:test')
const assert = require('node:assert')

const reserve = require('./reserve.js')
const release = require('./release.js')
const low = require('../events/low.js')

it('reserves what is there, and no more', async () => {
  const entry = { sku: 'TEA-0001', available: 3, reserved: 0 }

  assert.deepStrictEqual(await reserve.transition({ quantity: 2 }, entry), { sku: 'TEA-0001', available: 1 })
  assert.strictEqual((await reserve.transition({ quantity: 2 }, entry)).message, 'OUT_OF_STOCK')
  assert.strictEqual(entry.reserved, 2)
})

it('takes back no more than was reserved', async () => {
  const entry = { available: 1, reserved: 2 }

  await release.transition({ quantity: 5 }, entry)

  assert.deepStrictEqual(entry, { available: 3, reserved: 0 })
})

it('is low once', () => {
  assert.ok(low.condition({ origin: { available: 6 }, state: { available: 5, threshold: 5 } }))
  assert.ok(!low.condition({ origin: { available: 5 }, state: { available: 4, threshold: 5 } }))
})
