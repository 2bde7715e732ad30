'use strict'

const { it } = require('node:test')
const assert = require('node:assert')

const { transition } = require('./register.js')

const context = { random: () => 0.000042 }

it('registers with an address in its usual form', async () => {
  const entry = {}

  await transition({ email: ' Ann@Example.COM ', name: 'Ann ' }, entry, context)

  assert.deepStrictEqual(entry, { email: 'Ann@example.com', name: 'Ann', verified: false, code: '000042' })
})

for (const email of ['', 'ann', 'ann@home', 'a b@example.com', 'ann@example..com'])
  it(`refuses "${email}"`, async () => {
    assert.strictEqual((await transition({ email, name: 'Ann' }, {}, context)).message, 'BAD_EMAIL')
  })
