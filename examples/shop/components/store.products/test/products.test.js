'use strict'

const { describe, it } = require('node:test')
const assert = require('node:assert')

const reprice = require('../operations/reprice.js')
const quote = require('../operations/quote.js')

describe('reprice', () => {
  it('sets a price', async () => {
    const entry = { active: true, price: 1000 }

    await reprice.transition({ price: 1200 }, entry)

    assert.strictEqual(entry.price, 1200)
  })

  it('refuses a slip of the pen', async () => {
    const entry = { active: true, price: 1999 }
    const reply = await reprice.transition({ price: 19 }, entry)

    assert.strictEqual(reply.message, 'SUSPICIOUS_PRICE')
    assert.strictEqual(entry.price, 1999)
  })

  it('stores nothing when nothing changes', async () => {
    const entry = { active: true, price: 500 }

    await reprice.transition({ price: 500 }, entry)

    assert.strictEqual(entry.DISCARD, true)
  })
})

describe('quote', () => {
  for (const [quantity, total] of [[1, 1000], [9, 9000], [10, 9500], [200, 176000]])
    it(`of ${quantity} is ${total}`, async () => {
      const reply = await quote.observation({ quantity }, { active: true, price: 1000, currency: 'EUR' })

      assert.strictEqual(reply.total, total)
    })

  it('is written for people', async () => {
    const reply = await quote.observation({ quantity: 1 }, { active: true, price: 1905, currency: 'EUR' })

    assert.strictEqual(reply.label, '19.05 €')
  })
})
