'use strict'

const { it } = require('node:test')
const assert = require('node:assert')

const { computation } = require('./rate.js')

for (const [grams, zone, cents] of [[1, 'home', 390], [500, 'near', 590], [501, 'near', 890], [20000, 'far', 6990]])
  it(`sends ${grams} g ${zone} for ${cents}`, async () => {
    assert.strictEqual(await computation({ grams, zone }), cents)
  })

it('does not send a piano', async () => {
  assert.strictEqual((await computation({ grams: 400000, zone: 'home' })).message, 'TOO_HEAVY')
})
