'use strict'

const { it } = require('node:test')
const assert = require('node:assert')

const lines = require('./lines.js')

it('adds up pieces of one product', () => {
  const once = lines.add([], { sku: 'MUG-0001', quantity: 1, price: 900 })
  const twice = lines.add(once, { sku: 'MUG-0001', quantity: 2, price: 900 })

  assert.deepStrictEqual(lines.total(twice), { pieces: 3, amount: 2700 })
})

it('refuses a thousand', () => {
  assert.strictEqual(lines.add([{ sku: 'A', quantity: 999, price: 1 }], { sku: 'A', quantity: 1, price: 1 }), undefined)
})
