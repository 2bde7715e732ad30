'use strict'

const { describe, it } = require('node:test')
const assert = require('node:assert')

const { transition } = require('./place.js')

/** A context with a basket and a stock that remembers what it was asked. */
function shop (lines, available) {
  const calls = []

  const stock = {
    async reserve ({ query, input }) {
      calls.push(['reserve', query.criteria, input.quantity])

      if (!available.includes(query.criteria))
        return new Error('OUT_OF_STOCK')
    },
    async release ({ query, input }) {
      calls.push(['release', query.criteria, input.quantity])
    }
  }

  const baskets = { observe: async () => ({ account: 'ann', lines }) }

  return { calls, remote: { store: { stock, baskets } } }
}

describe('place', () => {
  const lines = [{ sku: 'TEA-0001', quantity: 2, price: 700 }, { sku: 'MUG-0001', quantity: 1, price: 900 }]

  it('takes over the basket', async () => {
    const entry = { id: 'o1' }
    const reply = await transition({ basket: 'b1' }, entry, shop(lines, ['sku==TEA-0001', 'sku==MUG-0001']))

    assert.deepStrictEqual(reply, { id: 'o1', amount: 2300 })
    assert.strictEqual(entry.status, 'pending')
  })

  it('gives back what it took when something is missing', async () => {
    const context = shop(lines, ['sku==TEA-0001'])
    const reply = await transition({ basket: 'b1' }, {}, context)

    assert.strictEqual(reply.message, 'OUT_OF_STOCK')
    assert.deepStrictEqual(context.calls.at(-1), ['release', 'sku==TEA-0001', 2])
  })

  it('refuses an empty basket', async () => {
    assert.strictEqual((await transition({ basket: 'b1' }, {}, shop([], []))).message, 'EMPTY')
  })
})
